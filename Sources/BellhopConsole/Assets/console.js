// The script of all pages: it sends the browser's time zone, shows live events, and moves to the search.
"use strict";
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = "bellhop_zone=" + encodeURIComponent(zone) + "; path=/; max-age=31536000; samesite=lax";

  // Text only ever becomes text.
  const add = (log, event) => {
    const line = document.createElement("p");
    const link = document.createElement("a");
    link.href = "/events/" + encodeURIComponent(event.id);
    link.textContent = event.type;
    const task = event.data && event.data.task;
    const words = [new Date(event.time).toLocaleTimeString(), " ", link, " ", event.source, " ",
      task ? (task.number || "") + " " + (task.title || "") : ""];
    line.append(...words);
    log.prepend(line);
    while (log.childElementCount > 200) log.lastElementChild.remove();
  };

  const button = document.getElementById("live");
  if (button && window.EventSource) {
    button.hidden = false;
    let stream = null;
    const log = document.getElementById("live-log");
    const label = () => {
      button.textContent = stream ? button.dataset.off : button.dataset.on;
      button.setAttribute("aria-pressed", String(stream !== null));
    };
    const stop = () => {
      stream.close();
      stream = null;
      label();
    };
    button.addEventListener("click", () => {
      if (stream) { stop(); return; }
      stream = new EventSource(button.dataset.stream);
      const show = (message) => add(log, JSON.parse(message.data));
      // Each type of event has a name of its own in the stream.
      stream.onmessage = show;
      for (const type of (button.dataset.types || "").split(" ")) if (type) stream.addEventListener(type, show);
      // The browser reconnects by itself, but not after a refusal: the session may be over.
      stream.onerror = (error) => { if (error.target === stream && stream.readyState === EventSource.CLOSED) stop(); };
      label();
    });
  }

  // Keys: / goes to the search.
  document.addEventListener("keydown", (key) => {
    if (key.key !== "/" || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
    const first = document.querySelector("form[role=search] input");
    if (first) { key.preventDefault(); first.focus(); }
  });
})();
