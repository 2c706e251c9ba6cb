// Where an address leads: `#query=` shows a query, `#run&query=` runs it, too (`/sparql?query=...&format=html` leads
// there), `#live` shows streams and registered queries.

function opened() {
  show();
  const linked = /^#(run&)?query=(.+)$/s.exec(location.hash);
  if (!linked) return false;
  query.value = decoded(linked[2]);
  if (linked[1]) run();
  return true;
}

if (!opened()) query.value = EXAMPLES[0][1];
window.addEventListener("hashchange", opened);
showContents();
