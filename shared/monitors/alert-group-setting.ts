import * as z from 'zod';
import { givenIds, memo, name, notificationInterval, scopeTexts } from './fields';

/** Schema of a setting that combines alerts into one notification, by monitors, services and roles. */
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
