// <llmwiki-browser src="http://127.0.0.1:7345"> shows the code wiki of an llmwiki server in any
// web page: an overview, its sections with citations and diagrams, and questions. One file, no
// dependencies. `src` is the server, `token` its token where it asks for one.
"use strict";
(() => {
  const LOOK = `
    :host { --text: #1d2226; --muted: #5b646b; --page: #fff; --panel: #f5f5f1; --line: #dcdcd5;
      --line-strong: #8b9490; --accent: #1f6d57; --accent-soft: #dff0ea; --bad: #a8321f;
      --node: #eef4f1; --node-2: #f3f0e6; --node-3: #eceef6; color-scheme: light dark;
      display: block; color: var(--text); background: var(--page); font: 16px/1.55 system-ui, sans-serif;
      border: 1px solid var(--line); border-radius: 10px; overflow: hidden; text-align: left; }
    @media (prefers-color-scheme: dark) { :host { --text: #e4e7e5; --muted: #9ba6a4; --page: #15191b;
      --panel: #1c2123; --line: #2f3739; --line-strong: #6d7977; --accent: #74c9ae;
      --accent-soft: #1d3a32; --bad: #f0917f; --node: #24332e; --node-2: #332f22; --node-3: #272b3b; } }
    * { box-sizing: border-box; }
    [role=tablist] { display: flex; gap: 4px; padding: 8px 12px 0; border-bottom: 1px solid var(--line); background: var(--panel); }
    [role=tab] { font: inherit; color: var(--muted); background: none; border: 0; border-bottom: 3px solid transparent; padding: 6px 12px; cursor: pointer; }
    [role=tab][aria-selected=true] { color: var(--accent); border-color: var(--accent); font-weight: 600; }
    [role=tabpanel] { padding: 16px 20px 24px; max-height: var(--llmwiki-height, 40rem); overflow: auto; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: -2px; }
    a { color: var(--accent); } a.cite { text-decoration-style: dotted; }
    h1, h2, h3 { line-height: 1.25; } h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; } h3 { font-size: 1rem; }
    pre { overflow: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 10px; }
    code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .875em; overflow-wrap: anywhere; }
    table { border-collapse: collapse; } th, td { padding: 4px 10px; border-bottom: 1px solid var(--line); text-align: left; }
    .table, .diagram { overflow: auto; } .diagram svg { max-width: 100%; height: auto; } figure { margin: 1em 0; }
    .anchor, .lang { display: none; } .faint, .note { color: var(--muted); font-size: .9rem; } .bad { color: var(--bad); }
    .badge { font-size: .78rem; padding: 1px 8px; border-radius: 1em; background: var(--accent-soft); color: var(--accent); }
    .chip { font-size: .75rem; padding: 0 .4em; border-radius: 1em; background: var(--accent-soft); text-decoration: none; }
    .two { display: grid; grid-template-columns: minmax(10rem, 16rem) minmax(0, 1fr); gap: 20px; }
    @media (max-width: 700px) { .two { grid-template-columns: 1fr; } }
    .list { list-style: none; margin: 0; padding: 0; font-size: .92rem; }
    .list button { font: inherit; width: 100%; text-align: left; color: inherit; background: none; border: 0; border-left: 3px solid var(--line); padding: 4px 10px; cursor: pointer; overflow-wrap: anywhere; }
    .list button[aria-current=true] { border-color: var(--accent); color: var(--accent); font-weight: 600; }
    .count { color: var(--muted); font-size: .85em; }
    form { display: flex; gap: 8px; margin-bottom: 12px; flex-wrap: wrap; }
    input { flex: 1 1 14rem; font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line-strong); border-radius: 6px; padding: 6px 10px; min-width: 0; }
    form button, .again { font: inherit; background: var(--accent); color: var(--page); border: 0; border-radius: 6px; padding: 6px 16px; cursor: pointer; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; } dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
  `;
  const TABS = [["overview", "Overview"], ["sections", "Sections"], ["ask", "Ask"]];

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  class Browser extends HTMLElement {
    static observedAttributes = ["src", "token"];
    #root = this.attachShadow({ mode: "open" });
    #panel = null;
    #tab = "overview";
    #asked = new WeakMap();
    #section = null;

    connectedCallback() {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(LOOK);
      this.#root.adoptedStyleSheets = [sheet];
      const tabs = element("div", { role: "tablist", "aria-label": "Code wiki" });
      for (const [id, words] of TABS) {
        const tab = element("button", { role: "tab", type: "button", id: `tab-${id}`, "aria-controls": "panel" }, words);
        tab.addEventListener("click", () => this.show(id));
        tabs.append(tab);
      }
      tabs.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const at = TABS.findIndex(([id]) => id === this.#tab);
        const [next] = TABS[(at + step + TABS.length) % TABS.length];
        this.show(next);
        this.#root.getElementById(`tab-${next}`).focus();
      });
      this.#panel = element("div", { role: "tabpanel", id: "panel", tabindex: "0" });
      this.#root.replaceChildren(tabs, this.#panel);
      this.show(this.#tab);
    }

    attributeChangedCallback() {
      if (this.#panel) this.show(this.#tab);
    }

    get #base() {
      return new URL(this.getAttribute("src") || ".", document.baseURI).href.replace(/\/$/, "");
    }

    async #fetch(path, body) {
      const headers = {};
      if (this.hasAttribute("token")) headers.Authorization = `Bearer ${this.getAttribute("token")}`;
      if (body) headers["Content-Type"] = "application/json";
      const request = { headers, method: body ? "POST" : "GET", body: body && JSON.stringify(body) };
      const response = await fetch(this.#base + path, request);
      const said = await response.json().catch(() => null);
      if (response.ok && said) return said;
      throw new Error((said && said.error && said.error.message) || `the server answered ${response.status}`);
    }

    // Puts what `make` gives into the panel; until then, and instead of it, words.
    async #fill(target, make) {
      const mine = {};
      this.#asked.set(target, mine);
      target.replaceChildren(element("p", { class: "note", role: "status" }, "Loading\u2026"));
      let made;
      try {
        made = await make();
      } catch (cause) {
        const again = element("button", { class: "again", type: "button" }, "Try again");
        again.addEventListener("click", () => this.#fill(target, make));
        made = [element("p", { class: "bad", role: "alert" }, `This could not be loaded: ${cause.message}.`), again];
      }
      if (mine === this.#asked.get(target)) target.replaceChildren(...made);
    }

    show(tab) {
      this.#tab = tab;
      for (const [id] of TABS) {
        const button = this.#root.getElementById(`tab-${id}`);
        button.setAttribute("aria-selected", String(id === tab));
        button.tabIndex = id === tab ? 0 : -1;
      }
      this.#panel.setAttribute("aria-labelledby", `tab-${tab}`);
      if (tab === "ask") this.#showAsk();
      else this.#fill(this.#panel, () => (tab === "overview" ? this.#overview() : this.#sections()));
    }

    #empty(said) {
      return [element("p", { class: "note" }, said.message || "No code wiki was generated yet.")];
    }

    async #overview() {
      const said = await this.#fetch("/api/wiki");
      if (!said.generated) return this.#empty(said);
      const facts = element("dl");
      for (const [key, value] of [
        ["Files", said.file_count],
        ["Sections", said.sections.length],
        ["Generated", said.generated_at],
      ]) facts.append(element("dt", {}, key), element("dd", {}, String(value)));
      const index = await this.#fetch("/api/wiki/index");
      return [facts, this.#text(index.html)];
    }

    async #sections() {
      const said = await this.#fetch("/api/wiki");
      if (!said.generated) return this.#empty(said);
      if (!said.sections.length) return [element("p", { class: "note" }, "The code wiki has no sections.")];
      const list = element("ul", { class: "list" });
      const body = element("div");
      const open = (id) => {
        this.#section = id;
        for (const button of list.querySelectorAll("button"))
          button.setAttribute("aria-current", String(button.dataset.id === id));
        this.#fill(body, async () => {
          const section = await this.#fetch(`/api/wiki/${id.split("/").map(encodeURIComponent).join("/")}`);
          return [this.#text(section.html)];
        });
      };
      for (const section of said.sections) {
        const count = element("span", { class: "count" }, ` ${section.citation_count}`);
        const button = element("button", { type: "button", "data-id": section.id, title: `${section.citation_count} citations` }, section.title, count);
        button.addEventListener("click", () => open(section.id));
        list.append(element("li", {}, button));
      }
      const known = said.sections.some((section) => section.id === this.#section);
      queueMicrotask(() => open(known ? this.#section : said.sections[0].id));
      return [element("div", { class: "two" }, element("nav", { "aria-label": "Sections" }, list), body)];
    }

    #showAsk() {
      this.#asked.delete(this.#panel);
      const field = element("input", { name: "question", maxlength: "2000", "aria-label": "Question", placeholder: "Ask about the code", autocomplete: "off" });
      const form = element("form", {}, field, element("button", {}, "Ask"));
      const out = element("div", { "aria-live": "polite" }, element("p", { class: "note" }, "Answers cite the lines they rest on."));
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (!field.value.trim()) return;
        this.#fill(out, async () => {
          const report = await this.#fetch("/api/wiki/ask", { question: field.value });
          return [this.#text(report.html)];
        });
      });
      this.#panel.replaceChildren(form, out);
    }

    // HTML of the server, which is made safe there; its links lead to the server.
    #text(html) {
      const made = new DOMParser().parseFromString(html, "text/html");
      for (const link of made.querySelectorAll("a[href]")) {
        const target = link.getAttribute("href");
        if (target.startsWith("/")) link.href = this.#base + target;
        if (!target.startsWith("#")) {
          link.target = "_blank";
          link.rel = "noopener noreferrer";
        }
      }
      for (const image of made.querySelectorAll("img[src^='/']")) image.src = this.#base + image.getAttribute("src");
      const box = element("div");
      box.append(...[...made.body.childNodes].map((node) => document.adoptNode(node)));
      box.addEventListener("click", (event) => {
        const link = event.target.closest("a[href^='#']");
        const place = link && this.#root.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)));
        if (!link) return;
        event.preventDefault();
        if (place) place.scrollIntoView();
      });
      return box;
    }
  }
  customElements.define("llmwiki-browser", Browser);
})();
