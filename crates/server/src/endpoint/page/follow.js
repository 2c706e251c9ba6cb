// Following a server's events (Server-Sent Events, WHATWG HTML section 9.2), for as long as somebody looks.
//
// A fetch and no EventSource: that sends neither a token nor the text of a query. What was seen last is named when
// the connection is made anew, so nothing is missed and nothing comes twice. A connection that says nothing for longer
// than the server's heartbeats take is given up; so is one in a tab that nobody looks at, because a browser has few
// connections for a server, which all of its tabs share.

// Pauses before another try (milliseconds), the heartbeats' patience, and how long an unseen tab goes on.
const RETRY_FIRST = 500, RETRY_LAST = 5000, SILENCE = 40000, UNSEEN = 30000;

// Cuts a stream of text into events; `take` gets each.
function eventReader(take) {
  let rest = "", event = { data: [] };
  function line(text) {
    if (text === "") {
      if (event.data.length > 0) take({ type: event.type || "message", id: event.id, data: event.data.join("\n") });
      event = { data: [] };
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + (text[colon + 1] === " " ? 2 : 1));
    if (name === "data") event.data.push(value);
    else if (name === "event") event.type = value;
    else if (name === "id") event.id = value;
  }
  return (text) => {
    // Only what is new is searched: an event may be as long as an answer.
    let from = rest.length, begin = 0;
    rest += text;
    for (let end; (end = rest.indexOf("\n", from)) >= 0; from = begin) {
      line(rest.slice(begin, end));
      begin = end + 1;
    }
    rest = rest.slice(begin);
  };
}

const pause = (millis, signal) => new Promise((done) => {
  const timer = setTimeout(done, millis);
  signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});

// Follows events until `signal` ends it. `on.event` gets each event and may say `false`: it was the last. `on.open`,
// `on.lost` (with milliseconds to the next try) and `on.refused` (the end, too) say how the connection stands.
async function follow(address, request, on, signal) {
  let seen = null, wait = RETRY_FIRST, isOver = false;
  while (!signal.aborted && !isOver) {
    const control = new AbortController(), give = () => control.abort();
    signal.addEventListener("abort", give, { once: true });
    let silence = setTimeout(give, SILENCE);
    const hidden = watchHidden(give);
    try {
      const headers = { ...request.headers, Accept: "text/event-stream", ...credentials() };
      if (seen !== null) headers["Last-Event-ID"] = seen;
      const response = await fetch(address, { ...request, headers, signal: control.signal, cache: "no-store" });
      if (!response.ok) {
        const refusal = await refusalOf(response);
        // The server is busy or about to end.
        if (response.status < 500 && ![408, 429].includes(response.status)) { isOver = true; on.refused(refusal); break; }
        throw refusal;
      }
      wait = RETRY_FIRST;
      on.open();
      const read = eventReader((event) => {
        if (isOver) return;
        if (event.id !== undefined) seen = event.id;
        if (on.event(event) === false) isOver = true;
      });
      const reader = response.body.getReader(), decoder = new TextDecoder();
      for (let part; !isOver && !(part = await reader.read()).done;) {
        clearTimeout(silence);
        silence = setTimeout(give, SILENCE);
        read(decoder.decode(part.value, { stream: true }));
      }
    } catch (error) {
      if (error instanceof Failure) { isOver = true; on.refused(error); }
    } finally {
      clearTimeout(silence);
      hidden.end();
      signal.removeEventListener("abort", give);
      control.abort();
    }
    if (signal.aborted || isOver) return;
    if (document.hidden) { await seenAgain(signal); continue; }
    on.lost(wait);
    await pause(wait, signal);
    wait = Math.min(wait * 2, RETRY_LAST);
  }
}

// Calls `give` when nobody has looked at this tab for a while.
function watchHidden(give) {
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(give, UNSEEN);
  };
  document.addEventListener("visibilitychange", look);
  look();
  return { end: () => { clearTimeout(timer); document.removeEventListener("visibilitychange", look); } };
}

// Waits until somebody looks at this tab.
const seenAgain = (signal) => new Promise((done) => {
  const look = () => {
    if (document.hidden && !signal.aborted) return;
    document.removeEventListener("visibilitychange", look);
    done();
  };
  document.addEventListener("visibilitychange", look);
  signal.addEventListener("abort", look, { once: true });
  look();
});
