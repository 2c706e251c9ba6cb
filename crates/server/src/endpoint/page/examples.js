// Examples to begin with: queries for a stream that is there, and a stream that this page can make and feed.

// The stream of `somersault demo --live`, and ours.
const CAMPUS = "urn:campus", ROOMS = "urn:example:rooms";

// Queries that a stream can be asked by whoever knows nothing of it: name, title, text.
function examplesFor(stream) {
  const window = `FROM NAMED WINDOW <urn:w> ON <${stream}> [RANGE PT10S STEP PT1S]`;
  const own = [];
  if (stream === CAMPUS) {
    own.push(["busiest-courses", "Courses that are entered most, and who teaches them",
      `PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>\nSELECT ?course ?teacher (COUNT(DISTINCT ?student) AS ?students)\n${window}\nWHERE {\n  WINDOW <urn:w> { ?student <urn:enters> ?course }\n  ?teacher ub:teacherOf ?course\n}\nGROUP BY ?course ?teacher\nORDER BY DESC(?students) ?course`]);
  }
  if (stream === ROOMS) {
    own.push(["room-temperatures", "How warm it is in each room",
      `SELECT ?room (ROUND(AVG(?degrees) * 10) / 10 AS ?average) (MIN(?degrees) AS ?least) (MAX(?degrees) AS ?most)\n${window}\nWHERE { WINDOW <urn:w> { ?room <urn:temperature> ?degrees } }\nGROUP BY ?room\nORDER BY ?room`]);
  }
  return [...own,
    ["how-often", "How often each predicate came in the last 10 seconds",
      `SELECT ?predicate (COUNT(*) AS ?times)\n${window}\nWHERE { WINDOW <urn:w> { ?subject ?predicate ?object } }\nGROUP BY ?predicate\nORDER BY DESC(?times)`],
    ["what-comes", "What comes, each second what is new",
      `REGISTER ISTREAM <urn:what-comes> AS\nSELECT ?subject ?predicate ?object\nFROM NAMED WINDOW <urn:w> ON <${stream}> [RANGE PT1S STEP PT1S]\nWHERE { WINDOW <urn:w> { ?subject ?predicate ?object } }`],
    ["is-it-flowing", "Whether anything came within the last second",
      `ASK\nFROM NAMED WINDOW <urn:w> ON <${stream}> [RANGE PT1S STEP PT1S]\nWHERE { WINDOW <urn:w> { ?subject ?predicate ?object } }`],
    ["seen-lately", "A graph of what came in the last 5 seconds: CONSTRUCT",
      `CONSTRUCT { ?subject <urn:lately> ?object }\nFROM NAMED WINDOW <urn:w> ON <${stream}> [RANGE PT5S STEP PT1S]\nWHERE { WINDOW <urn:w> { ?subject ?predicate ?object } }`],
  ];
}

// The stream that this page feeds: some rooms, each with its temperature, which wanders.
const feeder = {
  timer: 0,
  rooms: ["attic", "hall", "kitchen", "library"],
  degrees: [19.5, 21, 22.5, 20],
  pushed: 0,
  failed: "",
  get isOn() { return this.timer !== 0; },
  begin() {
    this.failed = "";
    if (!this.isOn) this.timer = setInterval(() => this.push(), 500);
  },
  end(why = "") {
    clearInterval(this.timer);
    this.timer = 0;
    this.failed = why;
  },
  async push() {
    const lines = this.degrees.map((degrees, room) => {
      this.degrees[room] = Math.min(28, Math.max(15, degrees + (Math.random() - 0.5)));
      return `<urn:room:${this.rooms[room]}> <urn:temperature> ${JSON.stringify(this.degrees[room].toFixed(1))}^^<http://www.w3.org/2001/XMLSchema#decimal> .`;
    });
    try {
      await call("POST", itemsOf(ROOMS, { source: "page" }), { body: `${lines.join("\n")}\n`, type: "application/n-triples", patience: 5000 });
      this.pushed += lines.length;
    } catch (error) {
      // A server that is away for a moment is asked again; one that refuses is not.
      if (error instanceof Refusal && error.body.status !== 429) this.end(error.message);
    }
  },
};

// Makes the stream, registers its query, and begins to feed it.
async function setUpExample() {
  try {
    await call("POST", "/api/v1/streams", { body: JSON.stringify({ name: ROOMS, absorb: "none", arrival_time: true, begin: Date.now() - 60000 }) });
  } catch (error) {
    if (!(error instanceof Refusal) || error.body.status !== 409) throw error;
  }
  feeder.begin();
  const [name, , text] = examplesFor(ROOMS)[0];
  try {
    await call("POST", `/api/v1/continuous?name=${name}`, { body: text, type: "application/sparql-query" });
  } catch (error) {
    if (!(error instanceof Refusal) || error.body.status !== 409) throw error;
  }
  await look();
  location.hash = linkTo("query", name);
}

// What to do first, where nothing is there yet.
function welcome(now) {
  const box = holding("section", "teach", element("h2", "Questions that stay"));
  const told = (text) => box.append(element("p", text));
  const problems = element("section", undefined, "problem");
  problems.hidden = true;
  problems.setAttribute("role", "alert");
  const attempt = (act) => async () => {
    problems.hidden = true;
    try { await act(); } catch (error) { showFailure(problems, error, "", null); }
  };
  if (!now.is_writable) {
    told("A stream brings facts with their time; a registered query answers each time a window of it closes. This server only reads, so nothing flows here.");
    told("Start it with --allow-update, or try the demonstration, which has a stream that flows:");
    box.append(element("pre", "somersault demo --live"));
    return box;
  }
  if (!now.may_change) {
    told("A stream brings facts with their time; a registered query answers each time a window of it closes. Nothing is here yet, and making streams and queries needs a token with the right to write.");
    box.append(button("Enter a token", askForToken));
    return box;
  }
  if (now.streams.length === 0) {
    told("A stream brings facts with their time. A registered query looks at a window of it, the last ten seconds for instance, and answers each time that window closes; what it asks may reach into the stored graph, too.");
    box.append(holding("ol", "steps",
      holding("li", "", element("strong", "Make a stream"), " that facts are pushed to, by HTTP or by hand."),
      holding("li", "", element("strong", "Register a query"), " over a window of it."),
      holding("li", "", element("strong", "Watch its reports"), " here, each as its window closes.")));
    box.append(holding("p", "row", button("Show me: four rooms and their temperatures", attempt(setUpExample), "main"),
      element("span", "Makes a stream and a query, and pushes to it while this page is open. Nothing is stored in the graph.", "hint")));
    box.append(holding("p", "row", button("Make a stream of my own", () => { location.hash = linkTo("new-stream"); })));
    told("Or start a server whose stream flows from the beginning:");
    box.append(element("pre", "somersault demo --live"));
  } else {
    const stream = now.streams[0].name, [name, title, text] = examplesFor(stream)[0];
    told(`${now.streams.length === 1 ? "One stream is here, and nothing" : `${now.streams.length} streams are here, and nothing`} asks yet what flows in. A registered query looks at a window of a stream and answers each time that window closes.`);
    box.append(element("h3", title), element("pre", text));
    box.append(holding("p", "row", button("Register this query", attempt(async () => {
      await call("POST", `/api/v1/continuous?name=${name}`, { body: text, type: "application/sparql-query" });
      await look();
      location.hash = linkTo("query", name);
    }), "main"), button("Change it first", () => registerText(text, name))));
    box.append(element("p", "The same, and more, from a terminal: somersault cq register, somersault subscribe.", "hint"));
  }
  box.append(problems);
  return box;
}
