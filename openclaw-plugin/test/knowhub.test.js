import assert from "node:assert/strict";
import { test } from "node:test";

import { searchesTools } from "../src/knowhub.js";

for (const [toolSearch, want] of /** @type {Array<[unknown, boolean]>} */ ([
  [undefined, true],
  [false, false],
  [true, false],
  [{ mode: "tools" }, true],
  [{ mode: "directory" }, true],
  [{ mode: "code" }, false],
  [{}, false],
  [{ enabled: false, mode: "tools" }, false],
])) {
  test(`a gateway with tools.toolSearch ${JSON.stringify(toolSearch)} ${want ? "may hide" : "does not hide"} tools behind tool_call`, () => {
    const config = { tools: { toolSearch } };
    assert.equal(searchesTools(/** @type {any} */ ({ config })), want);
    assert.equal(searchesTools(/** @type {any} */ ({ config: {}, runtime: { config: { current: () => config } } })), want, "the configuration as it is now");
  });
}
