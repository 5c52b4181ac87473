import { Stack, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { FALLBACK_FUNCTION, ROUTES, type Route, type RouteKey } from '../shared/http/routes';
import { stageName } from '../shared/platform/names';
import type { Settings } from '../shared/platform/settings';
import type { Stage } from './config';
import { retentionDays } from './log-retention';
import { awsMetric } from './monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from './monitoring/monitored';

/** A function that answers routes. */
type RoutedFunction = (typeof ROUTES)[number]['function'];

export interface ApiProps {
  readonly stage: Stage;
  readonly settings: Settings;
  readonly functions: Readonly<Record<RoutedFunction, LambdaFunction>>;
}

/**
 * For each function, the route that is added before all others. CDK derives the logical ids of a function's integration
 * and permission from its first route, so fixing this route keeps the ids independent of the order in the table of
 * routes. The registry's ids come from the default route.
 */
const FIRST_ROUTES: readonly RouteKey[] = ['POST /api/v0/tsdb', 'GET /api/v1/series', 'GET /'];

/** Format of the access log. It contains no headers, because API keys are sent in headers. */
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

/** The HTTP API: the routes of shared/http/routes.ts, and one function for every other request. */
export class Api extends Construct implements Monitored {
  /** Base URL without a stage in its path, because agents keep only scheme, host and port. */
  readonly url: string;
  /** The target of the domain name's DNS record; undefined without a domain name. */
  readonly domainTarget: string | undefined;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: ApiProps) {
    super(scope, id);
    const integrations = new Map<RoutedFunction, HttpLambdaIntegration>();
    const integrationOf = (name: RoutedFunction) => {
      const integration =
        integrations.get(name) ??
        new HttpLambdaIntegration(name, props.functions[name], {
          payloadFormatVersion: apigateway.PayloadFormatVersion.VERSION_2_0,
          // Create one permission per function, not one per route.
          scopePermissionToRoute: false,
        });
      integrations.set(name, integration);
      return integration;
    };

    const api = new apigateway.HttpApi(this, 'HttpApi', {
      apiName: stageName(props.stage),
      description: `HeteroTSDB ${props.stage}`,
      defaultIntegration: integrationOf(FALLBACK_FUNCTION),
      createDefaultStage: false,
    });
    // `scopePermissionToRoute: false` needs a route with method and path, which the default route lacks;
    // grant its permission here.
    props.functions[FALLBACK_FUNCTION].addPermission('DefaultRoute', {
      scope: this,
      principal: new ServicePrincipal('apigateway.amazonaws.com'),
      sourceArn: Stack.of(this).formatArn({
        service: 'execute-api',
        resource: api.apiId,
        resourceName: '*/$default',
      }),
    });
    const isFirst = ({ method, path }: Route) => FIRST_ROUTES.includes(`${method} ${path}` as RouteKey);
    for (const route of [...ROUTES].sort((a, b) => Number(isFirst(b)) - Number(isFirst(a)))) {
      api.addRoutes({
        path: route.path,
        // HTTP requires HEAD wherever GET is served. The functions answer it without a body.
        methods: (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]) as apigateway.HttpMethod[],
        integration: integrationOf(route.function),
      });
    }
    Validations.of(api).acknowledge({
      id: 'AwsSolutions-APIG4',
      reason:
        "Every function checks the API key against its stored hash before anything else; an authorizer would be a second invocation for each request, and could not answer with the API's own errors.",
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
    this.alarms = alarmRules(api.apiId);
    this.graphs = graphs(api.apiId);
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

function alarmRules(apiId: string): AlarmRule[] {
  return [
    {
      name: 'api-errors',
      text: 'api-errors',
      metric: awsMetric.api('5xx', apiId, Stats.AVERAGE),
      above: 0.01,
      within: [3, 5],
    },
    {
      name: 'api-latency',
      text: 'api-latency',
      metric: awsMetric.api('Latency', apiId, Stats.percentile(99)),
      above: 5000,
      within: [10, 15],
    },
  ];
}

function graphs(apiId: string): Graph[] {
  return [
    {
      title: 'Requests and failed requests',
      left: [awsMetric.api('Count', apiId, Stats.SUM)],
      right: [awsMetric.api('4xx', apiId, Stats.SUM), awsMetric.api('5xx', apiId, Stats.SUM)],
    },
    { title: 'Time of a request, ms', left: ['p50', 'p99'].map((p) => awsMetric.api('Latency', apiId, p)) },
  ];
}
