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
      const lit = aside.querySelector(".line.lit");
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
