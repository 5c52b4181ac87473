/**
 * Checks the version of Node. Import this module first: on an older version, later imports fail with errors that do not
 * name the cause.
 */
const MIN_MAJOR = 24;

if (Number(process.versions.node.split('.')[0]) < MIN_MAJOR) {
  console.error(
    `Node ${MIN_MAJOR} or newer is needed, but this is ${process.versions.node}: use npm start, npm run ops, npm run bench or npm run soak, which come with it.`,
  );
  process.exit(1);
}

export {};
