//! Cases as text: an input, a line of four dashes, the output expected, a blank line. A line that
//! begins with four equals signs is a heading.

/// The cases: input, output.
pub(super) fn cases(mut rest: &str) -> impl Iterator<Item = (&str, &str)> {
    std::iter::from_fn(move || {
        let (input, after) = rest.split_once("\n----\n")?;
        let (expected, next) = after.split_once("\n\n").unwrap_or((after, ""));
        rest = next;
        let input = match input.strip_prefix("====") {
            Some(heading) => heading.split_once("\n\n").map_or("", |(_, input)| input),
            None => input,
        };
        Some((input, expected))
    })
}

/// Checks every case; all that differ are shown.
pub(super) fn check_all(text: &str, output: impl Fn(&str) -> String) {
    let mut differ = String::new();
    let mut number = 0;
    for (input, expected) in cases(text) {
        number += 1;
        let found = output(input);
        if found.trim() != expected.trim() {
            for part in [input, "---- found", &found, "---- expected", expected, ""] {
                differ.push_str(part);
                differ.push('\n');
            }
        }
    }
    assert!(number > 0, "no cases");
    assert!(differ.is_empty(), "\n{differ}");
}
