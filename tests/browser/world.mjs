// What the browser looks at: wikis, servers, a slow model, a page of another site.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const HOSTILE = (source) => `# Hostile

<script>window.pwned = 1</script>
<img src=x onerror="window.pwned = 2">
<svg onload="window.pwned = 3"><animate onbegin="window.pwned = 4" attributeName=x dur=1s></svg>
<style>body { display: none }</style>
<iframe src="javascript:parent.pwned = 5"></iframe>
<a href="javascript:window.pwned = 6" id="bad-link">raw link</a>
<form action="https://evil.example"><input name=token></form>
<meta http-equiv="refresh" content="0;url=https://evil.example">
<base href="https://evil.example">

[a](javascript:window.pwned=7) [b](data:text/html,<script>parent.pwned=8</script>) [c](vbscript:x)
![d](https://evil.example/track.png) ![e" onerror="window.pwned=9](x.png)
[f](<https://ok.example/"onmouseover="window.pwned=10>) [g](llmwiki://source/${source}#L1)

\`\`\`mermaid
flowchart LR
  a["<img src=x onerror=window.pwned=11>"] --> b
  click a "javascript:window.pwned=12"
  style b fill:url(https://evil.example/x)
\`\`\`

\`\`\`mermaid
%%{init: {"themeCSS": "*{background:url(https://evil.example/y)}"}}%%
sequenceDiagram
  A->>B: </text><script>window.pwned=13</script>
\`\`\`

$<script>window.pwned=14</script>$ [[<img src=x onerror=window.pwned=15>]]

</article></main></body><script>window.pwned = 16</script>
`;

const BOARD = (port) => `<!doctype html><html lang="en"><title>A board</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src http://127.0.0.1:${port}; connect-src http://127.0.0.1:${port} http://127.0.0.1:9">
<main><h1>Board</h1><llmwiki-browser src="http://127.0.0.1:${port}"></llmwiki-browser>
<llmwiki-browser id="dead" src="http://127.0.0.1:9"></llmwiki-browser></main>
<script src="http://127.0.0.1:${port}/assets/llmwiki-browser.js"></script></html>`;

export class World {
  constructor(program, repository, work) {
    Object.assign(this, { program, repository, work, ended: [] });
    this.environment = {
      PATH: process.env.PATH,
      HOME: join(work, "home"),
      XDG_CONFIG_HOME: join(work, "home/.config"),
    };
    mkdirSync(join(work, "home/.config/llmwiki"), { recursive: true });
  }

  run(root, ...given) {
    const text = execFileSync(this.program, ["--root", root, "--json", ...given], {
      env: this.environment,
      cwd: this.work,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return JSON.parse(text);
  }

  page(root, id, title, source, body) {
    const file = join(this.work, "body.md");
    writeFileSync(file, body);
    this.run(root, "upsert-page", id, "--title", title, "--summary", `About ${title}`, "--source", source, "--body", file);
  }

  // The example wiki with a project, a code wiki, a hostile page and a table of a megabyte.
  build() {
    const project = join(this.work, "station");
    const root = join(project, ".llmwiki");
    mkdirSync(project);
    cpSync(join(this.repository, "examples/station-wiki"), root, { recursive: true });
    mkdirSync(join(project, "src"));
    const code = "/// Reads the wind speed in metres a second.\npub fn read_wind(pulses: u32) -> f32 {\n    pulses as f32 * 0.75 + 0.2\n}\n";
    writeFileSync(join(project, "src/lib.rs"), code);
    writeFileSync(join(project, "src/log.rs"), "use crate::read_wind;\n\n/// Logs it.\npub fn log() -> f32 {\n    read_wind(3)\n}\n");
    writeFileSync(join(root, "config.toml"), "max_page_bytes = 4194304\n");
    this.run(root, "generate", "--no-model");
    const source = readdirSync(join(root, "sources"))[0];
    const cited = `The mast is high.[^1] [Mount it](llmwiki://source/${source}#L2-L3) well.\n\n[^1]: See [[anemometer]].\n`;
    this.page(root, "claims", "Claims", source, `# Claims\n\n${cited}\n${"Filler text.\n\n".repeat(60)}## End\n\nThe end.\n`);
    this.page(root, "hostile", "Hostile", source, HOSTILE(source));
    const rows = Array.from({ length: 12000 }, (_, at) => `| ${at} | <b>cell</b> \`code\` with some words in it to make it long | [x](claims.md) |`);
    this.page(root, "table", "Table", source, `| a | b | c |\n|---|---|---|\n${rows.join("\n")}\n`);
    this.root = root;
    this.source = source;
    const empty = join(this.work, "empty/.llmwiki");
    this.run(empty, "init");
    this.empty = empty;
  }

  // A server of a wiki; gives its address.
  async serve(root, environment = {}, given = []) {
    const child = spawn(this.program, ["--root", root, "--json", "serve", "--port", "0", ...given], {
      env: { ...this.environment, ...environment },
      cwd: this.work,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.ended.push(() => child.kill("SIGTERM"));
    const line = await new Promise((resolve, reject) => {
      let text = "";
      child.stdout.on("data", (part) => {
        text += part;
        if (text.includes("\n")) resolve(text);
      });
      child.on("exit", () => reject(new Error("the server ended")));
    });
    return JSON.parse(line).url.replace(/\/$/, "");
  }

  async listen(handler) {
    const server = createServer(handler);
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.ended.push(() => server.close());
    return server.address().port;
  }

  // A model that takes its time: a paragraph, a pause until `proceed` is called, the rest.
  async slowModel() {
    let proceed;
    const waiting = new Promise((resolve) => (proceed = resolve));
    const port = await this.listen(async (request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" });
      const say = (content) => response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
      say("The wind is read from pulses [1].\n\n");
      await waiting;
      say("It is linear [1].\n");
      response.end("data: [DONE]\n\n");
    });
    const config = `[models]\ndefault = "slow"\n[models.slow]\nurl = "http://127.0.0.1:${port}/v1"\nmodel = "slow"\n`;
    writeFileSync(join(this.work, "home/.config/llmwiki/config.toml"), config);
    return proceed;
  }

  boardText(wiki) {
    return BOARD(new URL(wiki).port);
  }

  end() {
    for (const end of this.ended) end();
  }
}
