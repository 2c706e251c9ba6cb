//! Rule: no two files import each other, however far around.
//!
//! A circle of files can only be understood, tested and moved as a whole, and nearly always it is one type that stands
//! in the file which uses it most instead of in one of its own. So a file that is to import what imports it gives that
//! a room first. A circle that is inherent (operators hold blocks hold operators) is an exception with its reason;
//! because the finding names all its files, an exception excuses that circle and no larger one.
//!
//! Held as: within a crate, the paths that begin with `crate`, `self` or `super`, in `use` and elsewhere, each leading to
//! the deepest file that it names. A file and those beneath it do not count against each other: a folder's own file puts its
//! parts together and has what they share. What a file has by a re-export of one above it is not followed.
//!
//! Cost: the tokens of each file once, and linear in files and paths after that.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::Token;
use super::tree::{File, Tree};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "circles",
    rule: "a type that two files need has a file of its own, below both",
    run,
};

/// The names of modules from a crate's root to one.
type Module = Vec<String>;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &File>> = BTreeMap::new();
    for file in tree.rust().filter(|file| !file.is_test) {
        if let Some((name, module)) = place(file) {
            crates.entry(name).or_default().insert(module, file);
        }
    }
    crates.values().flat_map(findings).collect()
}

/// The crate of a file and the module that it is.
fn place(file: &File) -> Option<(&str, Module)> {
    let name = file.crate_name()?;
    let below = file.path.strip_prefix(&format!("crates/{name}/src/"))?;
    let mut module: Module = below
        .strip_suffix(".rs")?
        .split('/')
        .map(str::to_owned)
        .collect();
    let is_root = module.len() == 1 && (module[0] == "lib" || module[0] == "main");
    if is_root || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    Some((name, module))
}

fn findings(modules: &BTreeMap<Module, &File>) -> Vec<Finding> {
    let imports: BTreeMap<&Module, BTreeSet<&Module>> = modules
        .iter()
        .map(|(module, file)| (module, imported(module, file, modules)))
        .collect();
    let mut search = Search {
        imports: &imports,
        numbers: BTreeMap::new(),
        open: Vec::new(),
        circles: Vec::new(),
    };
    for module in modules.keys() {
        search.visit(module);
    }
    let mut circles = search.circles;
    circles.sort();
    circles
        .iter()
        .map(|circle| finding(circle, modules))
        .collect()
}

fn finding(circle: &[&Module], modules: &BTreeMap<Module, &File>) -> Finding {
    let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
    Finding {
        path: modules[circle[0]].path.clone(),
        line: 0,
        what: format!(
            "{} files import each other: {}",
            names.len(),
            names.join(", ")
        ),
    }
}

/// The modules that a file imports from, but for those above and beneath it.
fn imported<'m>(
    module: &Module,
    file: &File,
    modules: &'m BTreeMap<Module, &File>,
) -> BTreeSet<&'m Module> {
    let code = file.code().map_or(&[][..], |tokens| &tokens.code);
    let mut paths = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let is_start = matches!(&*code[at].text, "crate" | "self" | "super");
        // Behind `::` it is the end of a path; behind one colon it begins a type.
        let is_within = at > 1 && code[at - 1].text == ":" && code[at - 2].text == ":";
        if is_start && !is_within {
            at = read(code, at, &mut Vec::new(), &mut paths);
        } else {
            at += 1;
        }
    }
    let named = paths
        .iter()
        .filter_map(|path| leads_to(module, path, modules));
    named
        .filter(|other| !other.starts_with(module) && !module.starts_with(other))
        .collect()
}

/// Reads a path, or a tree of them, behind what was read of it; gives the place after it.
fn read(
    code: &[Token],
    mut at: usize,
    path: &mut Vec<String>,
    into: &mut Vec<Vec<String>>,
) -> usize {
    let text = |at: usize| code.get(at).map_or("", |token| &*token.text);
    let begun = path.len();
    loop {
        if text(at) == "{" {
            at += 1;
            while !matches!(text(at), "}" | "") {
                at = match text(at) {
                    "," => at + 1,
                    _ => read(code, at, path, into),
                };
            }
            at += 1;
            break;
        }
        path.push(text(at).to_owned());
        at += 1;
        if text(at) != ":" || text(at + 1) != ":" {
            into.push(path.clone());
            // `as` and a name, within a tree.
            if text(at) == "as" {
                at += 2;
            }
            break;
        }
        at += 2;
    }
    path.truncate(begun);
    at
}

/// The deepest module that a path names.
fn leads_to<'m>(
    from: &Module,
    path: &[String],
    modules: &'m BTreeMap<Module, &File>,
) -> Option<&'m Module> {
    let mut here = from.clone();
    let mut rest = path;
    while let Some((first, further)) = rest.split_first() {
        match &**first {
            "crate" => here.clear(),
            "self" => {}
            "super" => drop(here.pop()),
            name => {
                here.push(name.to_owned());
                if !modules.contains_key(&here) {
                    here.pop();
                    break;
                }
            }
        }
        rest = further;
    }
    modules.get_key_value(&here).map(|(module, _)| module)
}

/// Tarjan's search for what is strongly connected ("Depth-first search and linear graph algorithms", 1972).
struct Search<'m> {
    imports: &'m BTreeMap<&'m Module, BTreeSet<&'m Module>>,
    /// By module: its number in the order of visits, and the least number that it reaches.
    numbers: BTreeMap<&'m Module, (usize, usize)>,
    /// Those visited whose circle is not complete.
    open: Vec<&'m Module>,
    circles: Vec<Vec<&'m Module>>,
}

impl<'m> Search<'m> {
    /// The least number that a module reaches among those that are open.
    fn visit(&mut self, module: &'m Module) -> usize {
        if let Some((_, least)) = self.numbers.get(module) {
            return *least;
        }
        let number = self.numbers.len();
        self.numbers.insert(module, (number, number));
        self.open.push(module);
        for other in &self.imports[module] {
            let is_closed = self.numbers.contains_key(other) && !self.open.contains(other);
            if !is_closed {
                let reached = self.visit(other);
                let (_, least) = self.numbers.get_mut(module).expect("it was noted");
                *least = reached.min(*least);
            }
        }
        let (_, least) = self.numbers[module];
        if least == number {
            let first = self.open.iter().position(|open| *open == module);
            let mut circle = self.open.split_off(first.expect("it is open"));
            circle.sort();
            if circle.len() > 1 {
                self.circles.push(circle);
            }
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[(&str, &str)]) -> Vec<String> {
        let findings = run(&Tree::of_texts(texts)).into_iter();
        findings.map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn finds_circles_however_they_are_written() {
        let texts = [
            (
                "crates/a/src/lib.rs",
                "mod one; mod two; mod three; mod folder;",
            ),
            (
                "crates/a/src/one.rs",
                "use std::{fmt, io}; use crate::{two::{self, Two as Other}, other};",
            ),
            (
                "crates/a/src/two.rs",
                "fn two() -> super::three::Three { super::three::of() }",
            ),
            ("crates/a/src/three.rs", "use super::folder::deep::Deep;"),
            ("crates/a/src/folder/mod.rs", "mod deep; mod beside;"),
            (
                "crates/a/src/folder/deep.rs",
                "struct Deep { one: super::super::one::One } use super::beside::Beside;",
            ),
            (
                "crates/a/src/folder/beside.rs",
                "use crate::folder::Folder; use self::inner::X; // crate::one",
            ),
        ];
        assert_eq!(
            found(&texts),
            [
                "crates/a/src/folder/deep.rs: 4 files import each other: folder/deep, one, three, two"
            ]
        );
    }

    #[test]
    fn a_folder_and_its_parts_and_tests_are_no_circles() {
        let texts = [
            (
                "crates/a/src/main.rs",
                "mod one; use one::One; #[cfg(test)] mod tests;",
            ),
            (
                "crates/a/src/one.rs",
                "mod part; use self::part::Part; use crate::Root;",
            ),
            (
                "crates/a/src/one/part.rs",
                "use super::One; #[cfg(test)] mod tests { use crate::two::T; }",
            ),
            ("crates/a/src/two.rs", "use crate::one::part::Part;"),
            ("crates/a/src/tests.rs", "use crate::two::Two;"),
            ("crates/b/src/lib.rs", "use a::two::Two;"),
        ];
        assert_eq!(found(&texts), [""; 0]);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
