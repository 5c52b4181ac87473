import { MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV, functionName } from '../../shared/platform/names';
import type { Stage } from '../config';
import { awsMetric } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';

export interface PostUrlProps {
  readonly stage: Stage;
  readonly post: lambda.Function;
  /** Base URL of the API. All requests that post does not answer are redirected from the function's URL to this one. */
  readonly apiUrl: string;
}

/**
 * A second address for posts: the URL of the post function. AWS charges for the invocation alone, not for the
 * request.
 */
export class PostUrl extends Construct implements Monitored {
  readonly url: string;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, { stage, post, apiUrl }: PostUrlProps) {
    super(scope, id);
    post.addEnvironment(ENV.apiUrl, apiUrl);
    const url = new lambda.FunctionUrl(this, 'Url', {
      function: post,
      authType: lambda.FunctionUrlAuthType.NONE,
    });
    this.url = url.url;
    const name = functionName(stage, 'post');
    const requests = awsMetric.functionUrl('UrlRequestCount', name, Stats.SUM);
    const refused = awsMetric.functionUrl('Url4xxCount', name, Stats.SUM);
    const failed = awsMetric.functionUrl('Url5xxCount', name, Stats.SUM);
    this.alarms = [
      {
        name: 'post-url-errors',
        text: 'post-url-errors',
        metric: new MathExpression({
          expression: 'failed / requests',
          usingMetrics: { failed, requests },
          label: 'share of requests that failed',
          period: requests.period,
        }),
        above: 0.01,
        within: [3, 5],
      },
    ];
    this.graphs = [
      { title: "Requests and failed requests at post's URL", left: [requests], right: [refused, failed] },
    ];
  }
}
