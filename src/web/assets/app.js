// Comforts of the dashboard. Everything can be read and reached without this file.
"use strict";

// "/" goes to the search field, j and k through hits, Escape closes what was opened.
document.addEventListener("keydown", (event) => {
  const field = document.getElementById("w-q");
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !typing && field) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === "Escape") {
    if (panel.isOpen()) panel.close();
    else if (typing) event.target.blur();
  } else if (!typing && (event.key === "j" || event.key === "k")) {
    const hits = [...document.querySelectorAll(".hit h2 a, .findings .finding p a:last-child")];
    if (!hits.length) return;
    const at = hits.indexOf(document.activeElement);
    const next = event.key === "j" ? at + 1 : at - 1;
    hits[Math.max(0, Math.min(hits.length - 1, next))].focus();
    event.preventDefault();
  }
});

// Cited sources open beside the page.
const panel = (() => {
  let aside = null;
  let opener = null;
  let asked = 0;

  function make() {
    aside = document.createElement("aside");
    aside.className = "panel";
    aside.tabIndex = -1;
    aside.setAttribute("aria-label", "Cited source");
    const bar = document.createElement("div");
    bar.className = "panel-bar";
    const whole = document.createElement("a");
    whole.className = "panel-whole";
    whole.textContent = "Open by itself";
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close";
    close.addEventListener("click", () => panel.close());
    bar.append(whole, close);
    const body = document.createElement("div");
    body.className = "panel-body";
    aside.append(bar, body);
    document.querySelector(".frame").append(aside);
  }

  function show(nodes) {
    aside.querySelector(".panel-body").replaceChildren(...nodes);
  }

  function say(text) {
    const line = document.createElement("p");
    line.className = "faint";
    line.setAttribute("role", "status");
    line.textContent = text;
    show([line]);
  }

  return {
    isOpen: () => document.body.classList.contains("has-panel"),
    close() {
      document.body.classList.remove("has-panel");
      asked += 1;
      if (opener) {
        opener.classList.remove("open");
        opener.focus();
      }
      opener = null;
    },
    async open(link) {
      if (!aside) make();
      if (opener) opener.classList.remove("open");
      opener = link;
      link.classList.add("open");
      document.body.classList.add("has-panel");
      aside.querySelector(".panel-whole").href = link.href;
      const mine = (asked += 1);
      say("Opening\u2026");
      let answer;
      try {
        const response = await fetch(link.href, { credentials: "same-origin" });
        const made = new DOMParser().parseFromString(await response.text(), "text/html");
        answer = made.querySelector("main > article");
      } catch {
        answer = null;
      }
      if (mine !== asked) return;
      if (!answer) {
        say("The source could not be opened: is the server still there?");
        return;
      }
      // Two texts stand in one document now: only the page keeps its ids.
      for (const marked of answer.querySelectorAll("[id]")) {
        marked.dataset.line = marked.id;
        marked.removeAttribute("id");
      }
      for (const number of answer.querySelectorAll("a.no")) {
        number.href = link.href.split("#")[0] + number.getAttribute("href");
      }
      show([document.adoptNode(answer)]);
      const lit = aside.querySelector(".lit");
      const body = aside.querySelector(".panel-body");
      body.scrollTop = 0;
      if (lit) body.scrollTop = lit.offsetTop - body.clientHeight / 3;
      aside.focus({ preventScroll: true });
    },
  };
})();

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.cite, a.cite-source");
  if (!link || event.button !== 0) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (window.innerWidth < 900) return;
  event.preventDefault();
  panel.open(link);
});

// Code and snippets can be copied.
for (const code of document.querySelectorAll(".code pre, .hosts pre, .notice pre, .card pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy";
    }
    setTimeout(() => (button.textContent = "Copy"), 1600);
  });
  code.parentElement.classList.add("has-copy");
  code.after(button);
}

// The contents say where the reader is.
const entries = new Map();
for (const link of document.querySelectorAll(".contents a")) {
  const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  if (heading) entries.set(heading, link);
}
if (entries.size && "IntersectionObserver" in window) {
  const mark = () => {
    let current = null;
    for (const heading of entries.keys()) {
      if (heading.getBoundingClientRect().top < 140) current = heading;
    }
    for (const [heading, link] of entries) {
      if (heading === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  let waiting = false;
  addEventListener(
    "scroll",
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
}

// Answers come while they are written.
const askForm = document.querySelector("form.ask");
if (askForm) {
  const question = askForm.querySelector("textarea");
  const out = document.getElementById("w-answer");
  const button = askForm.querySelector("button");
  let running = null;

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };

  async function ask() {
    if (running) running.abort();
    const mine = (running = new AbortController());
    const stage = element("p", "faint", "Looking for evidence\u2026");
    stage.setAttribute("role", "status");
    const draft = element("div", "draft");
    out.replaceChildren(stage, draft);
    button.textContent = "Stop";
    try {
      const response = await fetch("/api/wiki/ask", {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
        body: JSON.stringify({ question: question.value }),
        signal: mine.signal,
      });
      if (!response.ok) {
        const said = await response.json();
        throw new Error(said.error ? said.error.message : response.statusText);
      }
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      let done = false;
      while (!done) {
        const part = await reader.read();
        done = part.done;
        const events = (rest + (part.value || "")).split("\n\n");
        rest = events.pop();
        for (const event of events) {
          const kind = (/^event: (.*)$/m.exec(event) || [])[1];
          const data = (/^data: (.*)$/m.exec(event) || [])[1];
          if (!kind) continue;
          const said = JSON.parse(data);
          if (kind === "text") {
            stage.textContent = "Writing\u2026";
            draft.textContent += said.text;
          } else if (kind === "progress") {
            stage.textContent = said.stage + (said.total ? `: ${said.done} of ${said.total}` : "\u2026");
          } else if (kind === "error") {
            throw new Error(said.message || "That did not work");
          } else if (kind === "report") {
            // Our own server made this HTML; it holds nothing but text and links.
            const made = new DOMParser().parseFromString(said.html, "text/html");
            out.replaceChildren(...[...made.body.childNodes].map((it) => document.adoptNode(it)));
            offerCopy();
          }
        }
      }
    } catch (cause) {
      const words = mine.signal.aborted ? "Stopped." : `${cause.message}.`;
      out.replaceChildren(element("p", "bad", words));
    } finally {
      if (running === mine) {
        running = null;
        button.textContent = "Ask";
      }
    }
  }

  function offerCopy() {
    const answer = out.querySelector(".answer");
    if (!answer || !answer.dataset.markdown) return;
    const copy = element("button", "", "Copy as Markdown");
    copy.type = "button";
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(answer.dataset.markdown);
      copy.textContent = "Copied";
    });
    const line = element("p", "tools");
    line.append(copy);
    answer.append(line);
  }

  askForm.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) running.abort();
    else if (question.value.trim()) ask();
  });
  question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      askForm.requestSubmit();
    }
  });
  offerCopy();
}

// A page that changes while it is read says so.
const page = document.querySelector("article.page[data-page]");
if (page && "EventSource" in window) {
  let events = null;
  const listen = () => {
    if (document.hidden) {
      if (events) events.close();
      events = null;
    } else if (!events) {
      events = new EventSource("/api/events");
      events.addEventListener("change", (event) => {
        if (JSON.parse(event.data).page !== page.dataset.page || page.querySelector(".changed")) return;
        const notice = document.createElement("p");
        notice.className = "warn changed";
        notice.setAttribute("role", "status");
        const again = document.createElement("a");
        again.href = location.pathname;
        again.textContent = "Read it as it is now";
        notice.append("This page has changed. ", again);
        page.prepend(notice);
      });
    }
  };
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => events && events.close());
  listen();
}

// The drawing moves with the pointer, grows with the wheel, and shows what a node is linked to.
const drawing = document.querySelector(".graph svg");
if (drawing) {
  const frame = drawing.parentElement;
  const box = drawing.viewBox.baseVal;
  const show = (x, y, width, height) => drawing.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  const scale = () => Math.max(box.width / drawing.clientWidth, box.height / drawing.clientHeight);
  const zoom = (factor, clientX, clientY) => {
    const place = drawing.getBoundingClientRect();
    const across = (clientX - place.left) / place.width;
    const down = (clientY - place.top) / place.height;
    const width = box.width * factor;
    const height = box.height * factor;
    if (width < 60 || width > 60000) return;
    show(box.x + (box.width - width) * across, box.y + (box.height - height) * down, width, height);
  };
  drawing.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !frame.matches(":focus-within, .used")) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, event.clientX, event.clientY);
    },
    { passive: false },
  );
  let from = null;
  let moved = false;
  drawing.addEventListener("pointerdown", (event) => {
    frame.classList.add("used");
    from = event;
    moved = false;
  });
  addEventListener("pointermove", (event) => {
    if (!from) return;
    const [dx, dy] = [event.clientX - from.clientX, event.clientY - from.clientY];
    if (Math.abs(dx) + Math.abs(dy) > 3) moved = true;
    show(box.x - dx * scale(), box.y - dy * scale(), box.width, box.height);
    from = event;
  });
  addEventListener("pointerup", () => (from = null));
  drawing.addEventListener("dragstart", (event) => event.preventDefault());
  drawing.addEventListener("click", (event) => moved && event.preventDefault(), true);
  const lines = [...drawing.querySelectorAll("line")];
  const nodes = [...drawing.querySelectorAll(".node")];
  const pick = (node) => {
    frame.classList.toggle("picked", Boolean(node));
    for (const marked of frame.querySelectorAll(".near")) marked.classList.remove("near");
    if (!node) return;
    node.classList.add("near");
    for (const line of lines) {
      const { a, b } = line.dataset;
      if (a !== node.dataset.n && b !== node.dataset.n) continue;
      line.classList.add("near");
      nodes[a === node.dataset.n ? b : a].classList.add("near");
    }
  };
  drawing.addEventListener("pointerover", (event) => pick(event.target.closest(".node")));
  drawing.addEventListener("pointerleave", () => pick(null));
}
