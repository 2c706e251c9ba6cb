//! Memory that control groups leave to this process (Linux, cgroup v2).
//!
//! Groups nest, and each ancestor may allow less than its children say, so the least of all levels
//! counts: a service within a slice within a container. Inside a namespace the path of a process is
//! relative to it and its root has no limit file; a level that cannot be read limits nothing. This is
//! a function over texts, since configuration reads no files: the edge hands over how to.

/// The least that any level has left (`memory.max` minus `memory.current`), in bytes; nothing where
/// no level has a limit. `own` is the text of `/proc/self/cgroup`; `read` gives the text of a file
/// below the mount of the hierarchy, named without a leading slash, like `system.slice/memory.max`.
///
/// ```
/// use somersault::control_group::free_bytes;
///
/// let read = |name: &str| match name {
///     "a/b/memory.max" | "memory.max" => Some("max".to_owned()),
///     "a/memory.max" => Some("1000".to_owned()),
///     "a/memory.current" => Some("400".to_owned()),
///     _ => None,
/// };
/// assert_eq!(free_bytes("0::/a/b\n", read), Some(600));
/// ```
pub fn free_bytes(own: &str, read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    // The only line of version 2 has no controllers; those of version 1 do.
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mut level = path.trim().trim_matches('/');
    let mut least = None;
    loop {
        least = least.into_iter().chain(free_of(level, &read)).min();
        if level.is_empty() {
            return least;
        }
        level = level.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
}

fn free_of(level: &str, read: &impl Fn(&str) -> Option<String>) -> Option<u64> {
    let figure = |name: &str| -> Option<u64> {
        let file = if level.is_empty() {
            name.to_owned()
        } else {
            format!("{level}/{name}")
        };
        read(&file)?.trim().parse().ok()
    };
    // `max` is no number: no limit here.
    let limit = figure("memory.max")?;
    Some(limit.saturating_sub(figure("memory.current").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(own: &str, files: &[(&str, &str)]) -> Option<u64> {
        free_bytes(own, |name| {
            let found = files.iter().find(|(file, _)| *file == name);
            found.map(|(_, text)| format!("{text}\n"))
        })
    }

    #[test]
    fn the_least_of_all_levels_counts() {
        let files = [
            ("memory.max", "9000"),
            ("memory.current", "100"),
            ("system.slice/memory.max", "500"),
            ("system.slice/memory.current", "200"),
            ("system.slice/kg.service/memory.max", "2000"),
            ("system.slice/kg.service/memory.current", "150"),
        ];
        assert_eq!(free("0::/system.slice/kg.service\n", &files), Some(300));
        assert_eq!(free("0::/\n", &files), Some(8900));
        assert_eq!(free("0::/elsewhere\n", &files), Some(8900));
    }

    #[test]
    fn no_limit_is_none() {
        let unlimited = [("a/memory.max", "max"), ("a/memory.current", "5")];
        assert_eq!(free("0::/a\n", &unlimited), None);
        assert_eq!(free("5:memory:/a\n", &[("a/memory.max", "7")]), None);
        assert_eq!(free("", &[]), None);
    }

    #[test]
    fn more_in_use_than_allowed_leaves_nothing() {
        let full = [("a/memory.max", "10"), ("a/memory.current", "12")];
        assert_eq!(free("0::/a/b\n", &full), Some(0));
    }
}
