import type { SNSClient } from '@aws-sdk/client-sns';
import type { TopicMessage } from './message-text';
import { DeliveryError } from './post-outside';

/** SNS errors that a retry cannot fix, because the message or the topic is invalid. */
const FINAL = new Set(['InvalidParameterException', 'InvalidParameterValueException', 'NotFoundException']);

/**
 * Publishes a message to an SNS topic.
 *
 * @throws {DeliveryError}
 */
export async function publishToTopic(
  client: SNSClient,
  topicArn: string,
  { subject, message, emails }: TopicMessage,
): Promise<void> {
  const { PublishCommand } = await import('@aws-sdk/client-sns');
  try {
    await client.send(
      new PublishCommand({
        TopicArn: topicArn,
        Subject: subject,
        Message: message,
        MessageStructure: 'json',
        ...(emails !== undefined && {
          MessageAttributes: {
            emails: { DataType: 'String.Array', StringValue: JSON.stringify(emails) },
          },
        }),
      }),
    );
  } catch (error) {
    const { name } = error as Error;
    throw new DeliveryError(`${topicArn} was not reached: ${name}`, FINAL.has(name), { cause: error });
  }
}
