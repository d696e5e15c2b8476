// The script of all pages: it sends the browser's time zone, shows live events and the progress of back-tests, asks before
// deliveries are dropped, lets a double click act once, and moves to the search.
"use strict";
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = "bellhop_zone=" + encodeURIComponent(zone) + "; path=/; max-age=31536000; samesite=lax";

  // Text only ever becomes text.
  const say = (log, ...words) => {
    const line = document.createElement("p");
    line.append(...words);
    log.prepend(line);
    while (log.childElementCount > 200) log.lastElementChild.remove();
  };
  const add = (log, event) => {
    const link = document.createElement("a");
    link.href = "/events/" + encodeURIComponent(event.id);
    link.textContent = event.type;
    const task = event.data && event.data.task;
    // A title in Hebrew or Arabic moves nothing beside it.
    const title = document.createElement("bdi");
    title.textContent = task ? task.title || "" : "";
    // Swedish writes times as the pages do: 2026-01-05 08:30:05.
    say(log, new Date(event.time).toLocaleString("sv"), " ", link, " ", event.source, " ",
      task ? (task.number || "") + " " : "", title);
  };

  const button = document.getElementById("live");
  if (button && window.EventSource) {
    button.hidden = false;
    let watching = false;
    let stream = null;
    let place = button.dataset.after;
    const log = document.getElementById("live-log");
    const show = (message) => {
      place = message.lastEventId;
      add(log, JSON.parse(message.data));
    };
    const open = () => {
      stream = new EventSource(button.dataset.stream + place);
      // Each type of event has a name of its own in the stream.
      stream.onmessage = show;
      for (const type of (button.dataset.types || "").split(" ")) if (type) stream.addEventListener(type, show);
      // The browser reconnects by itself, but not after a refusal: the session may be over.
      stream.onerror = (error) => {
        if (error.target !== stream || stream.readyState !== EventSource.CLOSED) return;
        watch(false);
        say(log, button.dataset.ended);
      };
    };
    // A browser opens about six connections to a host, so a hidden tab keeps none; shown again, it continues at its place.
    const update = () => {
      const wanted = watching && !document.hidden;
      if (wanted && !stream) open();
      if (!wanted && stream) { stream.close(); stream = null; }
    };
    const watch = (on) => {
      watching = on;
      update();
      button.textContent = on ? button.dataset.off : button.dataset.on;
    };
    button.addEventListener("click", () => watch(!watching));
    document.addEventListener("visibilitychange", update);
  }

  // A running back-test: its progress is renewed in place, and its report comes with the whole page.
  const renew = async () => {
    try {
      const answer = await fetch(location.href);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (answer.status < 500) {
        if (!page.getElementById("progress")) return location.reload();
        for (const part of [".as-of", "main dl", "#progress"]) document.querySelector(part).replaceWith(page.querySelector(part));
      }
    } catch { /* The network is away. */ }
    setTimeout(renew, 2000);
  };
  if (document.getElementById("progress")) setTimeout(renew, 2000);

  // A double click acts once, also on a slow network. Five seconds later the button works again: the request may have been stopped.
  let sent = -Infinity;
  document.addEventListener("submit", (submit) => {
    if (submit.target.method !== "post") return;
    const ask = submit.submitter && submit.submitter.dataset.ask;
    if (ask && !confirm(ask)) return submit.preventDefault();
    if (submit.timeStamp - sent < 5000) submit.preventDefault();
    else sent = submit.timeStamp;
  });

  // Keys: / goes to the search.
  document.addEventListener("keydown", (key) => {
    if (key.key !== "/" || key.ctrlKey || key.metaKey || key.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
    const first = document.querySelector("form[role=search] input");
    if (first) { key.preventDefault(); first.focus(); }
  });
})();
