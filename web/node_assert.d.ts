// What the tests here use of node.
declare module "node:assert" {
  interface Assert {
    ok(value: unknown): void;
    strictEqual(actual: unknown, expected: unknown): void;
    deepStrictEqual(actual: unknown, expected: unknown): void;
  }
  const assert: Assert;
  export default assert;
}
