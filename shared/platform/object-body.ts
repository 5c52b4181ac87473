import {
  GetObjectCommand,
  type GetObjectCommandInput,
  type GetObjectCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';

/**
 * Maximum number of times that an object is requested, if the connection breaks during the body each time. It
 * equals the `maxAttempts` of the SDK's client (compose/aws-clients.ts).
 */
const ATTEMPTS = 5;

/**
 * Gets an object, or a range of it, with its whole body. Sends the request again if the connection breaks in the
 * middle of the body, because the SDK retries a call only until the response begins.
 *
 * @see https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance-guidelines.html
 */
export async function getObject(
  client: S3Client,
  input: GetObjectCommandInput,
): Promise<GetObjectCommandOutput & { readonly bytes: Uint8Array }> {
  for (let attempt = 1; ; attempt++) {
    const output = await client.send(new GetObjectCommand(input));
    try {
      return { ...output, bytes: await output.Body!.transformToByteArray() };
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
