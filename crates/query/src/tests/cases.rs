//! Cases as text: an input, a line of four dashes, the output expected, a blank line. A line that
//! begins with four equals signs is a heading.

/// Checks every case; all that differ are shown.
pub(super) fn check_all(cases: &str, output: impl Fn(&str) -> String) {
    let mut differ = String::new();
    let mut number = 0;
    let mut rest = cases;
    while let Some((input, after)) = rest.split_once("\n----\n") {
        let (expected, next) = after.split_once("\n\n").unwrap_or((after, ""));
        rest = next;
        number += 1;
        let input = match input.strip_prefix("====") {
            Some(heading) => heading.split_once("\n\n").map_or("", |(_, input)| input),
            None => input,
        };
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
