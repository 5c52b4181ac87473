import * as z from 'zod';
import { givenIds, memo, name, notificationInterval, scopeTexts } from './fields';

/** Which alerts are gathered into one notification: of the monitors, and of the services or roles. */
export const alertGroupSettingSpec = z.object({
  name,
  memo,
  serviceScopes: scopeTexts.nullish(),
  roleScopes: scopeTexts.nullish(),
  monitorScopes: givenIds.nullish(),
  notificationInterval,
});
export type AlertGroupSettingSpec = z.output<typeof alertGroupSettingSpec>;
export type AlertGroupSetting = AlertGroupSettingSpec & { readonly id: string };
