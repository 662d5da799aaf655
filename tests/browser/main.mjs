// Every view and every way through them, in a real browser.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import axe from "axe-core";
import { chromium } from "playwright-core";

import { World } from "./world.mjs";

const [program, repository, work] = process.argv.slice(2);
const world = new World(program, repository, work);
world.build();
const STUB = "The wind comes from pulses [1]. So it is logged [2]. Nobody knows more [9].";
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

let passed = 0;
const failed = [];

// Opens a page that may not say, break or ask for anything that is not expected.
async function visit(context, allowed, expected = []) {
  const page = await context.newPage();
  const faults = [];
  page.on("console", (said) => said.type() === "error" && faults.push(`console: ${said.text()}`));
  page.on("pageerror", (cause) => faults.push(`script: ${cause}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!allowed.some((base) => url.startsWith(base))) faults.push(`request: ${url}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  page.faultless = () => {
    const bad = faults.filter((fault) => !expected.some((pattern) => pattern.test(fault)));
    assert.deepEqual(bad, []);
  };
  return page;
}

// Serious and critical faults that axe finds.
async function accessible(page, name) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const grave = violations.filter((it) => it.impact === "serious" || it.impact === "critical");
  const words = grave.map((it) => `${name}: ${it.id}: ${it.nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
  assert.deepEqual(words, []);
}

async function test(name, run) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  context.setDefaultTimeout(30_000);
  try {
    await run(context);
    passed += 1;
    console.log(`ok      ${name}`);
  } catch (cause) {
    failed.push(name);
    console.log(`FAILED  ${name}\n${cause.stack}`);
  } finally {
    await context.close();
  }
}

const wiki = await world.serve(world.root, { LLMWIKI_LLM_STUB: STUB });
const { source } = world;
const VIEWS = {
  home: "/",
  page: "/page/claims",
  codewiki: "/page/code/architecture",
  source: `/source/${source}?L=2-3#L2`,
  file: "/file/src/lib.rs?L=2-3#L2",
  search: "/search?q=wind",
  pages: "/pages?in=howto",
  sources: "/sources",
  changes: "/changes",
  history: "/history/claims",
  ask: "/ask",
  graph: "/graph?sources=1",
  projects: "/projects",
  lint: "/lint",
  status: "/status",
  nothing: "/page/gone",
};

for (const colorScheme of ["light", "dark"]) {
  await test(`every view is silent and accessible, ${colorScheme}`, async (context) => {
    const page = await visit(context, [wiki], [/404/]);
    await page.emulateMedia({ colorScheme });
    for (const [name, path] of Object.entries(VIEWS)) {
      for (const width of [1440, 1024, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(wiki + path);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width}`);
        if (width !== 1024) await accessible(page, `${name} at ${width}`);
        if (process.env.SHOTS) {
          mkdirSync(process.env.SHOTS, { recursive: true });
          await page.screenshot({ path: join(process.env.SHOTS, `${name}-${width}-${colorScheme}.png`) });
        }
      }
    }
    page.faultless();
  });
}

await test("a citation opens beside the page at its lines, and closes again", async (context) => {
  const page = await visit(context, [wiki]);
  await page.goto(`${wiki}/page/claims`);
  await page.click("a.cite");
  const lit = page.locator(".panel .line.lit");
  await lit.first().waitFor();
  assert.equal(await lit.count(), 2);
  const box = await lit.first().boundingBox();
  assert.ok(box.y > 0 && box.y < 900, "the cited lines are in sight");
  const text = await page.locator("main .text").boundingBox();
  assert.ok(text.width > 500 && text.x + text.width <= box.x, "the page stays readable beside it");
  assert.ok((await page.locator(".panel").innerText()).includes("verified now"));
  assert.equal(new URL(page.url()).pathname, "/page/claims", "the page stays");
  await accessible(page, "panel");
  await page.keyboard.press("Escape");
  await page.locator(".panel").waitFor({ state: "hidden" });
  assert.ok(await page.evaluate(() => document.activeElement.classList.contains("cite")), "focus comes back");
  // Anything but a plain click is the browser's.
  await page.setViewportSize({ width: 390, height: 800 });
  await page.click("a.cite");
  await page.waitForURL(/\/source\//);
  assert.equal(await page.locator(".line.lit").count(), 2);
  page.faultless();
});

await test("search works by the keyboard alone", async (context) => {
  const page = await visit(context, [wiki]);
  await page.goto(`${wiki}/`);
  await page.keyboard.press("/");
  await page.keyboard.type("stuck reading");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/search/);
  assert.ok((await page.locator(".hit mark").count()) > 0, "matched words are marked");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/page\//);
  await page.locator("#w-lit").waitFor({ state: "attached" });
  page.faultless();
});

await test("a stub answers with citations that open, and says what was left out", async (context) => {
  const page = await visit(context, [wiki]);
  await page.goto(`${wiki}/ask`);
  await page.fill("textarea", "how is wind read and logged");
  await page.keyboard.press("Control+Enter");
  await page.locator(".answer .chip").first().waitFor();
  const text = await page.locator(".answer").innerText();
  assert.match(text, /model/);
  assert.match(text, /1 citation left out/);
  await page.locator(".answer .chip").first().click();
  await page.locator(".panel .line.lit").first().waitFor();
  await accessible(page, "answer");
  await page.keyboard.press("Escape");
  await page.fill("textarea", "zzzz qqqq");
  await page.click("form.ask button");
  await page.getByText("Nothing relevant was found").first().waitFor();
  page.faultless();
});

await test("a slow answer is shown while it comes and can be stopped", async (context) => {
  const proceed = await world.slowModel();
  const slow = await world.serve(world.root);
  const page = await visit(context, [slow]);
  await page.goto(`${slow}/ask`);
  await page.fill("textarea", "how is wind read");
  await page.click("form.ask button");
  await page.locator(".draft", { hasText: "read from pulses" }).waitFor();
  assert.equal(await page.locator(".answer").count(), 0, "it is not at its end");
  proceed();
  await page.locator(".answer", { hasText: "It is linear" }).waitFor();
  page.faultless();
  await world.slowModel();
  const stopped = await world.serve(world.root);
  await page.goto("about:blank");
  const second = await visit(context, [stopped]);
  await second.goto(`${stopped}/ask`);
  await second.fill("textarea", "how is wind read");
  await second.click("form.ask button");
  await second.locator(".draft", { hasText: "pulses" }).waitFor();
  await second.click("form.ask button");
  await second.getByText("Stopped.").waitFor();
  second.faultless();
});

await test("hostile Markdown does nothing", async (context) => {
  const page = await visit(context, [wiki]);
  await page.goto(`${wiki}/page/hostile`);
  await page.hover(".text");
  for (const link of await page.locator(".text a").all()) await link.focus();
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll(".text script, .text iframe, .text form, .text style, .text img, .text svg a").length), 0);
  assert.equal(await page.evaluate(() => document.querySelector("main .text").closest("body") !== null && getComputedStyle(document.body).display), "block");
  const targets = await page.evaluate(() => [...document.querySelectorAll(".text a")].map((it) => it.protocol));
  assert.deepEqual([...new Set(targets)].sort(), ["http:", "https:"]);
  const begun = Date.now();
  await page.goto(`${wiki}/page/table`);
  assert.equal(await page.locator(".text tr").count(), 12001);
  assert.ok(Date.now() - begun < 15_000, "a table of a megabyte opens");
  page.faultless();
});

await test("a page that changes says so", async (context) => {
  const page = await visit(context, [wiki]);
  const listening = page.waitForResponse(/\/api\/events/);
  await page.goto(`${wiki}/page/alarm-limits`);
  await listening;
  world.page(world.root, "alarm-limits", "Alarm limits", source, "New text.\n");
  await page.locator(".changed").waitFor();
  await page.click(".changed a");
  await page.getByText("New text.").waitFor();
  page.faultless();
});

await test("a page can be read and its citations opened without JavaScript", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${wiki}/page/claims`);
  await page.click("a.cite");
  await page.waitForURL(/\/source\//);
  assert.equal(await page.locator(".line.lit").count(), 2);
  await page.goto(`${wiki}/search?q=wind`);
  assert.ok((await page.locator(".hit").count()) > 0);
  await page.goto(`${wiki}/ask`);
  await page.fill("textarea", "how is wind read and logged");
  await page.click("form.ask button");
  await page.locator(".answer .chip").first().waitFor();
  await context.close();
});

await test("an empty wiki says how to begin", async (context) => {
  const empty = await world.serve(world.empty);
  const page = await visit(context, [empty]);
  for (const path of ["/", "/pages", "/sources", "/changes", "/search?q=x", "/lint", "/status", "/ask", "/graph", "/projects"]) {
    await page.goto(empty + path);
    await accessible(page, `empty ${path}`);
  }
  await page.goto(`${empty}/`);
  assert.ok((await page.locator("main").innerText()).includes("llmwiki add-source"));
  page.faultless();
});

await test("a browser that gives the token gets in", async (context) => {
  const closed = await world.serve(world.root, { LLMWIKI_TOKEN: "open sesame" });
  const page = await visit(context, [closed], [/401/]);
  await page.goto(`${closed}/page/claims`);
  await accessible(page, "login");
  await page.fill("input[type=password]", "wrong");
  await page.click("button[type=submit]");
  await page.getByText("That is not the token").waitFor();
  await page.fill("input[type=password]", "open sesame");
  await page.click("button[type=submit]");
  await page.getByText("Changed last").waitFor();
  await page.goto(`${closed}/page/claims`);
  await page.click("a.cite");
  await page.locator(".panel .line.lit").first().waitFor();
  page.faultless();
});

await test("the component shows the code wiki in a page of another site", async (context) => {
  let wikiUrl = null;
  const port = await world.listen((_, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(world.boardText(wikiUrl));
  });
  const board = `http://localhost:${port}`;
  wikiUrl = await world.serve(world.root, { LLMWIKI_LLM_STUB: STUB }, ["--allow-origin", board]);
  const page = await visit(context, [wikiUrl, board, "http://127.0.0.1:9/"], [/127\.0\.0\.1:9|ERR_|Failed to load|favicon/]);
  await page.goto(`${board}/`);
  const live = page.locator("llmwiki-browser").first();
  await live.getByText("Generated").waitFor();
  await live.getByRole("tab", { name: "Sections" }).click();
  await live.getByRole("button", { name: /architecture/ }).click();
  await live.locator("svg").first().waitFor();
  const cited = await live.locator("a.cite").first().getAttribute("href");
  assert.ok(cited.startsWith(`${wikiUrl}/source/`), cited);
  await live.getByRole("tab", { name: "Sections" }).focus();
  await page.keyboard.press("ArrowRight");
  await live.getByLabel("Question").fill("how is wind read and logged");
  await page.keyboard.press("Enter");
  await live.locator(".chip").first().waitFor();
  const dead = page.locator("#dead");
  await dead.getByText("could not be loaded").waitFor();
  assert.equal(await dead.getByRole("button", { name: "Try again" }).count(), 1);
  await accessible(page, "component");
  page.faultless();
});

await browser.close();
world.end();
console.log(`${passed} passed, ${failed.length} failed`);
process.exit(failed.length ? 1 : 0);
