import { Stack, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { FALLBACK_FUNCTION, ROUTES } from '../shared/http/routes';
import type { FunctionName } from '../shared/platform/names';
import type { Settings } from '../shared/platform/settings';
import type { Stage } from './config';
import { retentionDays } from './log-retention';

export interface ApiProps {
  readonly stage: Stage;
  readonly settings: Settings;
  readonly functions: Readonly<Record<FunctionName, LambdaFunction>>;
}

/** A line of the access log. No header is in it: keys come in headers. */
const ACCESS_LOG = {
  requestId: '$context.requestId',
  time: '$context.requestTime',
  sourceIp: '$context.identity.sourceIp',
  method: '$context.httpMethod',
  path: '$context.path',
  routeKey: '$context.routeKey',
  status: '$context.status',
  responseBytes: '$context.responseLength',
  latencyMs: '$context.responseLatency',
  integrationLatencyMs: '$context.integrationLatency',
  error: '$context.error.message',
  integrationError: '$context.integrationErrorMessage',
};

/** The HTTP API: the routes of shared/routes.ts, and one function for everything else. */
export class Api extends Construct {
  /** Without a stage in its path: agents keep only scheme, host and port. */
  readonly url: string;
  readonly id: string;
  /** With a domain name: what its DNS record points at. */
  readonly domainTarget: string | undefined;

  constructor(scope: Construct, id: string, props: ApiProps) {
    super(scope, id);
    const integrations = new Map<FunctionName, HttpLambdaIntegration>();
    const integrationOf = (name: FunctionName) => {
      const integration =
        integrations.get(name) ??
        new HttpLambdaIntegration(name, props.functions[name], {
          payloadFormatVersion: apigateway.PayloadFormatVersion.VERSION_2_0,
          // One permission a function rather than one a route.
          scopePermissionToRoute: false,
        });
      integrations.set(name, integration);
      return integration;
    };

    const api = new apigateway.HttpApi(this, 'HttpApi', {
      apiName: `heterotsdb-${props.stage}`,
      description: `HeteroTSDB ${props.stage}`,
      defaultIntegration: integrationOf(FALLBACK_FUNCTION),
      createDefaultStage: false,
    });
    // The pattern of an API-wide permission ends in a method and a path, which the default route has not.
    props.functions[FALLBACK_FUNCTION].addPermission('DefaultRoute', {
      scope: this,
      principal: new ServicePrincipal('apigateway.amazonaws.com'),
      sourceArn: Stack.of(this).formatArn({
        service: 'execute-api',
        resource: api.apiId,
        resourceName: '*/$default',
      }),
    });
    for (const route of ROUTES) {
      api.addRoutes({
        path: route.path,
        methods: [route.method as apigateway.HttpMethod],
        integration: integrationOf(route.function),
      });
    }
    Validations.of(api).acknowledge({
      id: 'AwsSolutions-APIG4',
      reason:
        "Every function checks the API key against its stored hash before anything else; an authorizer would be a second function invocation for each request, and could not answer in the API's own error shape.",
    });

    const stage = new apigateway.HttpStage(this, 'Stage', {
      httpApi: api,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: props.settings.requestsPerSecond, burstLimit: props.settings.requestBurst },
      accessLogSettings: {
        destination: new apigateway.LogGroupLogDestination(
          new LogGroup(this, 'AccessLog', { retention: retentionDays(props.settings) }),
        ),
        format: AccessLogFormat.custom(JSON.stringify(ACCESS_LOG)),
      },
    });
    this.id = api.apiId;
    const { domainName, certificateArn } = props.settings;
    if (domainName === '') {
      this.url = stage.url;
      return;
    }
    const domain = new apigateway.DomainName(this, 'Domain', {
      domainName,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
      securityPolicy: apigateway.SecurityPolicy.TLS_1_2,
    });
    new apigateway.ApiMapping(this, 'DomainMapping', { api, domainName: domain, stage });
    this.url = `https://${domainName}/`;
    this.domainTarget = domain.regionalDomainName;
  }
}
