//! The commands with a dot: their names, their arguments, their help. What they do is the
//! session's.
//!
//! One table is the source of all: parsing, completion, `.help` and the nearest name of an unknown
//! one, so none of them can know a command that the others do not.

use crate::format::AnswerFormat;
use clap::ValueEnum;

/// What a command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `.help`
    Help,
    /// `.quit`
    Quit,
    /// `.timer`
    Timer(bool),
    /// `.pager`
    Pager(bool),
    /// `.mode`; `None` says which modes are set.
    Mode(Option<AnswerFormat>),
    /// `.explain`
    Explain(String),
    /// `.profile`
    Profile(String),
    /// `.read`
    Read(String),
    /// `.output`; `None` is standard output.
    Output(Option<String>),
    /// `.open`
    Open(String),
    /// `.prefixes`
    Prefixes,
    /// `.prefix`; without an IRI one that is well known, or that a loaded document declares.
    Prefix(String, Option<String>),
    /// `.param`; an empty term takes it back, `None` lists all.
    Param(Option<(String, String)>),
    /// `.stats`
    Stats,
    /// `.graphs`
    Graphs,
    /// `.streams`
    Streams,
    /// `.queries`
    Queries,
    /// `.subscribe`; a query's name, and how many reports are wanted.
    Subscribe(String, Option<u64>),
}

/// What follows a command's name, for completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing.
    None,
    /// `on` or `off`.
    Switch,
    /// A format.
    Format,
    /// A statement, up to its end.
    Statement,
    /// The name of a file.
    File,
    /// A prefix.
    Prefix,
    /// The name of a registered query.
    Query,
}

/// A row of the table.
pub struct Entry {
    /// The name, with its dot.
    pub name: &'static str,
    /// What follows.
    pub argument: Argument,
    usage: &'static str,
    help: &'static str,
}

/// The commands.
pub const COMMANDS: [Entry; 18] = [
    entry(".help", Argument::None, "", "this list"),
    entry(".quit", Argument::None, "", "leave; Ctrl-D does too"),
    entry(
        ".timer",
        Argument::Switch,
        "on|off",
        "say rows and times after each answer",
    ),
    entry(
        ".mode",
        Argument::Format,
        "FORMAT",
        "how answers are printed: as a table, or in a format of results or of graphs (Tab lists them)",
    ),
    entry(
        ".explain",
        Argument::Statement,
        "QUERY",
        "print the plan instead of running it",
    ),
    entry(
        ".profile",
        Argument::Statement,
        "QUERY",
        "run it, print the plan with rows and times",
    ),
    entry(
        ".read",
        Argument::File,
        "FILE",
        "run the statements and commands of a file",
    ),
    entry(
        ".output",
        Argument::File,
        "FILE|-",
        "print answers to a file, or here again",
    ),
    entry(
        ".open",
        Argument::File,
        "STORE|FILE|URL",
        "ask another store, file or endpoint",
    ),
    entry(
        ".prefixes",
        Argument::None,
        "",
        "the prefixes that are declared",
    ),
    entry(
        ".prefix",
        Argument::Prefix,
        "p: [<IRI>]",
        "declare a prefix; a well-known one, or one of the loaded files, needs no IRI",
    ),
    entry(
        ".param",
        Argument::None,
        "[NAME=[TERM]]",
        "give the variable a value in each query that has it, or none again",
    ),
    entry(".stats", Argument::None, "", "what the source holds"),
    entry(".graphs", Argument::None, "", "the named graphs"),
    entry(".streams", Argument::None, "", "the streams of the server"),
    entry(
        ".queries",
        Argument::None,
        "",
        "the continuous queries of the server",
    ),
    entry(
        ".subscribe",
        Argument::Query,
        "NAME [COUNT]",
        "follow the reports of a continuous query, to Ctrl-C or so many",
    ),
    entry(
        ".pager",
        Argument::Switch,
        "on|off",
        "show answers longer than the screen with $PAGER, or less",
    ),
];

const fn entry(
    name: &'static str,
    argument: Argument,
    usage: &'static str,
    help: &'static str,
) -> Entry {
    Entry {
        name,
        argument,
        usage,
        help,
    }
}

const _: () = {
    let mut at = 0;
    while at < COMMANDS.len() {
        assert!(
            COMMANDS[at].name.as_bytes()[0] == b'.',
            "a command begins with a dot"
        );
        at += 1;
    }
};

const NOTES: &str = "
A statement ends with a ; outside its brackets, or with an empty line once they are closed.
A PREFIX of a query stays declared for the next ones; Tab declares a well-known prefix that it
completes (rdf rdfs xsd owl foaf skos dcterms schema and others).
Updates run where the shell was started with --allow-update, or on an endpoint that lets us; each
operation is a commit of its own.
Ctrl-C cancels the query that runs, ends a subscription, or clears the query that is being written.
In a script (standard input, .read) the first statement that fails ends it.
";

/// The text of `.help`.
pub fn help() -> String {
    let rows = COMMANDS.iter().map(|command| {
        let usage = format!("{} {}", command.name, command.usage);
        format!("{usage:24} {}\n", command.help)
    });
    rows.chain([NOTES.to_owned()]).collect()
}

/// The command of a line that begins with a dot, and what follows its name.
pub fn split(line: &str) -> (&str, &str) {
    let line = line.trim();
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim())
}

/// Reads a command. The error says what is wrong with it.
pub fn parse(line: &str) -> Result<Command, String> {
    let (name, argument) = split(line);
    let found = match name {
        ".exit" => Some(".quit"),
        name => COMMANDS.iter().map(|c| c.name).find(|known| *known == name),
    };
    let Some(known) = found else {
        return Err(unknown(name));
    };
    let needed = || match argument {
        "" => Err(usage(known)),
        argument => Ok(argument.to_owned()),
    };
    Ok(match known {
        ".help" => Command::Help,
        ".quit" => Command::Quit,
        ".timer" => Command::Timer(switch(known, argument)?),
        ".pager" => Command::Pager(switch(known, argument)?),
        ".mode" => Command::Mode(match argument {
            "" => None,
            name => Some(format(name)?),
        }),
        ".explain" => Command::Explain(needed()?),
        ".profile" => Command::Profile(needed()?),
        ".read" => Command::Read(needed()?),
        ".open" => Command::Open(needed()?),
        ".output" => Command::Output(match argument {
            "" | "-" => None,
            file => Some(file.to_owned()),
        }),
        ".prefixes" => Command::Prefixes,
        ".prefix" => prefix(argument).ok_or_else(|| usage(known))?,
        ".param" => Command::Param(match argument {
            "" => None,
            given => Some(given_term(given).ok_or_else(|| usage(known))?),
        }),
        ".stats" => Command::Stats,
        ".streams" => Command::Streams,
        ".queries" => Command::Queries,
        ".subscribe" => subscription(&needed()?),
        _ => {
            assert_eq!(known, ".graphs", "each command of the table is read");
            Command::Graphs
        }
    })
}

/// `NAME` or `NAME COUNT`.
fn subscription(argument: &str) -> Command {
    let counted = argument.rsplit_once(char::is_whitespace);
    let counted = counted.and_then(|(name, count)| Some((name.trim(), count.parse().ok()?)));
    match counted {
        Some((name, count)) => Command::Subscribe(name.to_owned(), Some(count)),
        None => Command::Subscribe(argument.to_owned(), None),
    }
}

/// `NAME=TERM`, the name with or without its question mark.
pub fn given_term(text: &str) -> Option<(String, String)> {
    let (name, term) = text.split_once('=')?;
    let name = name.trim();
    let name = name.strip_prefix(['?', '$']).unwrap_or(name);
    (!name.is_empty()).then(|| (name.to_owned(), term.trim().to_owned()))
}

fn usage(name: &str) -> String {
    let found = COMMANDS.iter().find(|command| command.name == name);
    let usage = found.map_or("", |command| command.usage);
    format!("{name} is used as: {name} {usage}")
}

fn unknown(name: &str) -> String {
    let names = COMMANDS.iter().map(|command| command.name);
    format!("there is no command {name}; {}", nearest(name, names))
}

/// The name that is most like an unknown one, as advice.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let distance = |known: &str| strsim::damerau_levenshtein(name, known);
    let best = known.min_by_key(|known| distance(known));
    best.map_or_else(String::new, |best| {
        format!("the nearest is {best} (.help lists all)")
    })
}

fn switch(name: &str, argument: &str) -> Result<bool, String> {
    match argument {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(usage(name)),
    }
}

fn format(name: &str) -> Result<AnswerFormat, String> {
    AnswerFormat::from_str(name, true).map_err(|_| {
        let names: Vec<String> = formats().collect();
        let nearest = nearest(name, names.iter().map(String::as_str));
        format!("there is no mode {name}; {nearest}")
    })
}

/// The names of the formats.
pub fn formats() -> impl Iterator<Item = String> {
    AnswerFormat::value_variants()
        .iter()
        .map(|format| format.name().to_owned())
}

/// `p: <iri>`, `p <iri>`, `p:` or `p`.
fn prefix(argument: &str) -> Option<Command> {
    let (name, iri) = match argument.split_once('<') {
        Some((name, iri)) => (name, Some(iri.strip_suffix('>')?)),
        None => (argument, None),
    };
    let name = name.trim();
    let is_named = name.ends_with(':') || !name.is_empty();
    let name = name.strip_suffix(':').unwrap_or(name);
    let is_plain = name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let is_iri = iri.is_none_or(|iri| iri.contains(':') && !iri.contains(['<', '>', ' ', '"']));
    let command = Command::Prefix(name.to_owned(), iri.map(str::to_owned));
    (is_named && is_plain && is_iri).then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_table_is_read() {
        for command in &COMMANDS {
            let argument = match command.argument {
                Argument::None => "",
                Argument::Switch => "on",
                Argument::Format => "csv",
                Argument::Statement => "ASK {}",
                Argument::File => "a file.ttl",
                Argument::Prefix => "foaf:",
                Argument::Query => "likes",
            };
            let read = parse(&format!("{} {argument}", command.name));
            assert!(read.is_ok(), "{}: {read:?}", command.name);
            assert!(help().contains(command.name));
        }
        assert_eq!(
            COMMANDS.len(),
            help().lines().take_while(|l| !l.is_empty()).count()
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |line: &str| parse(line).unwrap_err();
        assert!(said(".tiner on").contains("the nearest is .timer"));
        assert!(said(".timer").contains(".timer on|off"));
        assert!(said(".mode tutle").contains("the nearest is turtle"));
        assert!(said(".read").contains(".read FILE"));
        assert!(said(".prefix").contains("p: [<IRI>]"));
        assert!(said(".prefix a: <b>").contains("p: [<IRI>]"));
        assert!(said(".prefix a b: <c:d>").contains("p: [<IRI>]"));
        assert!(said(".subscribe").contains(".subscribe NAME [COUNT]"));
        assert!(said(".subscrib q").contains("the nearest is .subscribe"));
    }

    #[test]
    fn subscriptions_are_read() {
        let read = |line: &str| parse(line).unwrap();
        let subscribe = |name: &str, count| Command::Subscribe(name.to_owned(), count);
        assert_eq!(read(".subscribe likes"), subscribe("likes", None));
        assert_eq!(read(".subscribe likes  3"), subscribe("likes", Some(3)));
        assert_eq!(read(".subscribe 3"), subscribe("3", None));
        assert_eq!(read(".subscribe a b"), subscribe("a b", None));
    }

    #[test]
    fn prefixes_are_read() {
        let read = |line: &str| parse(line).unwrap();
        let prefix = |name: &str, iri: Option<&str>| {
            Command::Prefix(name.to_owned(), iri.map(str::to_owned))
        };
        assert_eq!(
            read(".prefix e: <http://e/>"),
            prefix("e", Some("http://e/"))
        );
        assert_eq!(read(".prefix : <http://e/>"), prefix("", Some("http://e/")));
        assert_eq!(read(".prefix foaf"), prefix("foaf", None));
        assert_eq!(read("  .exit "), Command::Quit);
    }
}
