//! `stream`: making streams of a server or a store, pushing items, looking at streams, dropping them.
//!
//! What the server says goes to standard output, as a table or as a line of JSON; the account of a push is that of a load:
//! a bar or lines of JSON on standard error. A push that left lines out ends with 8, as a load does.

use super::{Absent, asked, print_all, print_one, server, streams};
use crate::arguments::{StreamCreate, StreamPush, StreamVerb};
use crate::endpoint::Endpoint;
use crate::exit::{Code, Failure, Outcome};
use crate::live::{
    ItemTime, ItemsForm, ItemsInput, Listed, PushAccount, PushOptions, Pusher, ahead, milliseconds,
    span, speed,
};
use crate::say::say;
use crate::stop::Stop;
use crate::trouble::Trouble;
use serde_json::{Map, Value, json};
use somersault::milliseconds_of_date;
use somersault::units::parse_size;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// Runs the verb.
pub fn run(verb: &StreamVerb, file: Option<&Path>) -> Outcome {
    match verb {
        StreamVerb::Create(flags) => {
            let definition = definition(flags)?;
            let server = streams(&flags.target, file, Absent::Make)?;
            let made = asked(|stop| server.create_stream(&definition, stop))?;
            print_one(&made)
        }
        StreamVerb::Push(flags) => push(flags, file),
        StreamVerb::List(flags) => {
            let server = server(&flags.target, file)?;
            let streams = asked(|stop| server.streams(stop))?;
            print_all(Listed::Streams, &streams)
        }
        StreamVerb::Show(flags) => {
            let server = server(&flags.target, file)?;
            print_one(&asked(|stop| server.stream(&flags.name, stop))?)
        }
        StreamVerb::Drop(flags) => {
            let server = server(&flags.target, file)?;
            asked(|stop| server.drop_stream(&flags.name, stop))
        }
    }
}

/// A stream, as the server reads it.
fn definition(flags: &StreamCreate) -> Result<Value, Failure> {
    let mut members = Map::new();
    let mut say = |name: &str, value: Value| {
        members.insert(name.to_owned(), value);
    };
    say("name", json!(flags.name));
    for (name, flag, text) in [
        ("grain", "--grain", &flags.grain),
        ("lateness", "--lateness", &flags.lateness),
        ("idle", "--idle", &flags.idle),
    ] {
        if (name, text.as_str()) != ("idle", "never") {
            milliseconds(flag, text)?;
        }
        say(name, json!(text));
    }
    say("absorb", absorb(&flags.absorb));
    say("arrival_time", json!(flags.arrival_time));
    if let Some(graph) = &flags.into {
        say("into", json!(graph));
    }
    if let Some(budget) = &flags.budget {
        parse_size(budget)
            .map_err(|error| Failure::new(Code::Usage, format!("`--budget {budget}`: {error}")))?;
        say("budget", json!(budget));
    }
    if let Some(begin) = flags.begin {
        say("begin", json!(begin));
    }
    Ok(Value::Object(members))
}

fn absorb(text: &str) -> Value {
    match text {
        "all" | "none" => json!(text),
        predicates => {
            let bare = |name: &str| {
                let name = name.trim();
                let inner = name
                    .strip_prefix('<')
                    .and_then(|name| name.strip_suffix('>'));
                inner.unwrap_or(name).to_owned()
            };
            json!(predicates.split(',').map(bare).collect::<Vec<String>>())
        }
    }
}

/// `stream push`
fn push(flags: &StreamPush, file: Option<&Path>) -> Outcome {
    let options = options(flags)?;
    let mut inputs = inputs(flags, &options, io::stdin().is_terminal())?;
    let server = server(&flags.target, file)?;
    let account = asked(|stop| {
        whole_where_times_are_within(&mut inputs, &options, &server, stop)?;
        refuse_uncounted(&inputs, &options)?;
        let mut pusher = Pusher::new(&server, options, stop);
        let sent = send(&mut pusher, &inputs, flags);
        if sent.is_ok() && *pusher.account() == PushAccount::default() {
            // Nothing was to be sent, so nobody has said yet whether there is such a stream.
            server.stream(&flags.name, stop)?;
        }
        if sent.is_err() {
            let account = pusher.account();
            let (taken, rejected) = (account.taken, account.rejected);
            let (items, were) = if taken == 1 {
                ("item", "was")
            } else {
                ("items", "were")
            };
            let lines = if rejected == 1 { "line" } else { "lines" };
            say!("somersault: {taken} {items} {were} taken, {rejected} {lines} rejected");
        }
        sent.map(|()| pusher.finish())
    })?;
    if account.missing > 0 {
        say_missing(account.missing);
    }
    if account.late > 0 {
        say_late(&account);
    } else if let Some(ahead) = account.latest_ms.and_then(ahead) {
        say!(
            "somersault: the latest item is {ahead} ahead of the clock: once the stream has come so far, items of now are too \
             late for it"
        );
    }
    if account.needs_time {
        say!(
            "somersault: items of this stream need a time: --time TIME|now gives one, --time-predicate IRI says where they \
             have it, lines of .nt.ts and graphs with prov:generatedAtTime bring it"
        );
    }
    match account.rejected {
        0 => Ok(()),
        1 => Err(Failure::new(Code::Rejected, "1 line was rejected")),
        count => {
            let message = format!("{count} lines were rejected");
            Err(Failure::new(Code::Rejected, message))
        }
    }
}

/// Statements have no items of their own: how many of them come together is the pipe's affair, and a position would mean
/// something else when they are sent again.
fn refuse_uncounted(inputs: &[(PathBuf, ItemsForm)], options: &PushOptions) -> Result<(), Trouble> {
    let is_uncounted = |form: &ItemsForm| matches!(form, ItemsForm::Statements(_));
    match inputs.iter().find(|(_, form)| is_uncounted(form)) {
        Some((path, _)) if options.position.is_some() => {
            let message = format!(
                "--position counts items, and the statements of {} that come together are one: send lines of .nt.ts or NDJSON",
                path.display()
            );
            Err(Trouble::new(Code::Usage, message))
        }
        _ => Ok(()),
    }
}

fn say_missing(missing: u64) {
    let (items, are) = match missing {
        1 => ("1 item".to_owned(), "it is"),
        missing => (format!("{missing} items"), "they are"),
    };
    say!(
        "somersault: {items} of the source before these never came; {are} left out for good, for what is behind is here now: \
         push in the order in which the source counts"
    );
}

fn say_late(account: &PushAccount) {
    let late = match account.late {
        1 => "1 item".to_owned(),
        late => format!("{late} items"),
    };
    match account.sealed_ms.and_then(ahead) {
        Some(ahead) => say!(
            "somersault: {late} came too late for any window that is not revised: the stream is {ahead} ahead of the clock, because an \
             item or a promise was; it goes on when the clock has come so far, or is dropped and made again"
        ),
        None => say!(
            "somersault: {late} came too late for any window that is not revised; a stream with more --lateness, or with an earlier \
             --begin, takes them"
        ),
    }
}

fn options(flags: &StreamPush) -> Result<PushOptions, Failure> {
    let timeout = flags.timeout.as_deref();
    Ok(PushOptions {
        stream: flags.name.clone(),
        source: flags.source.clone(),
        position: flags.position,
        time: time(flags)?,
        time_predicate: flags.time_predicate.clone(),
        speed: speed(&flags.speed)?,
        patience: timeout.map(|text| span("--timeout", text)).transpose()?,
    })
}

/// Statements whose times are among them are not sent in parts: a graph and its time belong together.
fn whole_where_times_are_within(
    inputs: &mut [(PathBuf, ItemsForm)],
    options: &PushOptions,
    server: &Endpoint,
    stop: &Stop,
) -> Result<(), Trouble> {
    let is_named = options.time_predicate.is_some();
    let may_be = |form: ItemsForm| match form {
        ItemsForm::Statements(format) => is_named || format.has_graphs(),
        _ => false,
    };
    let is_said = options.time != ItemTime::Unsaid;
    let is_within = (is_named || !is_said) && inputs.iter().any(|(_, form)| may_be(*form));
    if !is_said && !is_within {
        return Ok(());
    }
    if server.stream(&options.stream, stop)?["arrival_time"] == true {
        if is_said {
            let stream = &options.stream;
            say!(
                "somersault: --time changes nothing: items of {stream} have the time of their arrival"
            );
        }
        return Ok(());
    }
    if !is_within {
        return Ok(());
    }
    for (_, form) in inputs {
        if let (true, ItemsForm::Statements(format)) = (may_be(*form), *form) {
            *form = ItemsForm::Document(format);
        }
    }
    Ok(())
}

/// Sends all inputs, and then the promise that is asked for.
fn send(
    pusher: &mut Pusher<'_>,
    inputs: &[(PathBuf, ItemsForm)],
    flags: &StreamPush,
) -> Result<(), Trouble> {
    for (file, form) in inputs {
        let opened = ItemsInput::open(file, *form);
        let mut input = opened.map_err(|failure| Trouble::new(failure.code, failure.message))?;
        pusher.input(&mut input)?;
    }
    match flags.watermark {
        Some(watermark_ms) => pusher.promise(watermark_ms),
        None => Ok(()),
    }
}

/// Whether what stands for a file is a number: that of a flag before it, perhaps.
fn is_number(file: &Path) -> bool {
    let text = file.to_string_lossy();
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The inputs and how items lie in them, checked before anything is sent. A heartbeat from a terminal has none: whoever
/// gives one does not want to write items there.
fn inputs(
    flags: &StreamPush,
    options: &PushOptions,
    is_terminal: bool,
) -> Result<Vec<(PathBuf, ItemsForm)>, Failure> {
    let is_heartbeat = matches!(flags.watermark, Some(Some(_)));
    let mut files = flags.files.clone();
    if files.is_empty() && !(is_heartbeat && is_terminal) {
        files.push(PathBuf::from("-"));
    }
    let named = flags.format.as_deref().map(ItemsForm::named).transpose()?;
    let mut inputs = Vec::with_capacity(files.len());
    for file in files {
        let usage = |what: &str| {
            let message = format!("{}: {what}", file.display());
            Err(Failure::new(Code::Usage, message))
        };
        let form = named.or_else(|| ItemsForm::of_file(&file));
        let form = match form {
            Some(form) => form,
            None if file == Path::new("-") => ItemsForm::Lines,
            None if flags.watermark == Some(None) && is_number(&file) => {
                return usage("its name tells no format; a promise is written --watermark=MS");
            }
            None => return usage("its name tells no format: give --format"),
        };
        let is_timed = options.time != ItemTime::Unsaid || options.time_predicate.is_some();
        if form == ItemsForm::Lines && is_timed {
            return usage(
                "lines of .nt.ts bring their own time; --time and --time-predicate are for other formats: name one \
                 with --format",
            );
        }
        if !form.has_times() && options.speed.is_some() {
            return usage("--speed is for items that bring their times");
        }
        inputs.push((file, form));
    }
    Ok(inputs)
}

fn time(flags: &StreamPush) -> Result<ItemTime, Failure> {
    match flags.time.as_deref() {
        None => Ok(ItemTime::Unsaid),
        Some("now") => Ok(ItemTime::Now),
        Some(text) => {
            let read = text.parse().ok().or_else(|| milliseconds_of_date(text));
            read.map(ItemTime::At).ok_or_else(|| {
                let message = format!(
                    "`--time {text}`: expected milliseconds since 1970, an xsd:dateTime, or now"
                );
                Failure::new(Code::Usage, message)
            })
        }
    }
}

/// Makes a stream, unless there is one of this name.
pub(super) fn ensure(server: &Endpoint, definition: &Value, stop: &Stop) -> Result<(), Trouble> {
    let name = definition["name"].as_str().unwrap_or_default();
    if server.stream(name, stop).is_ok() {
        return Ok(());
    }
    server.create_stream(definition, stop).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Verb};
    use clap::Parser;

    fn verb(arguments: &[&str]) -> StreamVerb {
        let arguments = ["somersault", "stream"].iter().chain(arguments);
        match Arguments::try_parse_from(arguments)
            .expect("it parses")
            .verb
        {
            Verb::Stream(verb) => verb,
            _ => panic!("another verb"),
        }
    }

    fn defined(arguments: &[&str]) -> Result<Value, Failure> {
        match verb(&[&["create", "urn:s"], arguments].concat()) {
            StreamVerb::Create(flags) => definition(&flags),
            _ => panic!("another verb"),
        }
    }

    fn read(arguments: &[&str]) -> Result<Vec<(PathBuf, ItemsForm)>, Failure> {
        let StreamVerb::Push(flags) = verb(&[&["push", "urn:s"], arguments].concat()) else {
            panic!("another verb")
        };
        inputs(&flags, &options(&flags)?, true)
    }

    #[test]
    fn flags_define_a_stream() {
        let plain = defined(&[]).expect("all may be left out");
        assert_eq!(
            plain,
            json!({
                "name": "urn:s", "grain": "100ms", "lateness": "0ms", "idle": "5s", "absorb": "all",
                "arrival_time": false,
            })
        );
        let all = "--grain 1s --lateness 2s --idle never --absorb urn:a,<urn:b> --into urn:g --arrival-time --budget \
                   1MiB --begin 0";
        let arguments: Vec<&str> = all.split(' ').collect();
        let all = defined(&arguments).expect("all are given");
        assert_eq!(all["absorb"], json!(["urn:a", "urn:b"]));
        assert_eq!((&all["idle"], &all["begin"]), (&json!("never"), &json!(0)));
        assert_eq!(all["budget"], "1MiB");
        for wrong in [["--grain", "100"], ["--idle", "1us"], ["--budget", "1"]] {
            let failure = defined(&wrong).expect_err(wrong[1]);
            assert_eq!(failure.code, Code::Usage);
            assert!(failure.message.contains(wrong[0]), "{}", failure.message);
        }
    }

    #[test]
    fn inputs_have_their_forms() {
        let forms = |arguments: &[&str]| {
            let inputs = read(arguments).expect("it makes sense");
            inputs.into_iter().map(|(_, form)| form).collect::<Vec<_>>()
        };
        assert_eq!(forms(&[]), [ItemsForm::Lines]);
        assert_eq!(forms(&["--watermark=5"]), []);
        assert_eq!(forms(&["--watermark"]), [ItemsForm::Lines]);
        assert_eq!(
            forms(&["a.nt.ts", "b.ndjson"]),
            [ItemsForm::Lines, ItemsForm::Objects]
        );
        assert_eq!(
            forms(&["--format", "ndjson", "--time", "5"]),
            [ItemsForm::Objects]
        );
        for wrong in [
            &["a.txt"][..],
            &["--time", "now"],
            &["--time", "soon", "a.nq"],
            &["a.nq", "--speed", "1x"],
            &["--format", "csv"],
        ] {
            assert_eq!(read(wrong).expect_err("it makes none").code, Code::Usage);
        }
    }
}
