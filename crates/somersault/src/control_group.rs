//! Memory that this process may still take (Linux): the machine's, or less where a control group or a
//! limit of the process allows less.
//!
//! | bound | limit | in use |
//! |---|---|---|
//! | machine | | `MemAvailable` is what is left |
//! | control group, version 2 | `memory.max` | `memory.current` |
//! | control group, version 1 | `memory.limit_in_bytes`, `hierarchical_memory_limit` | `memory.usage_in_bytes` |
//! | `ulimit -v` | address space | `VmSize` |
//! | `ulimit -d` | data | `VmData` |
//!
//! Groups nest, and each ancestor may allow less than its children say, so the least of all levels
//! counts: a service within a slice within a container. Version 1 says in `memory.stat` what the
//! ancestors allow that a container does not see, and groups without `memory.use_hierarchy` do not
//! bound what is below them. Both versions may be mounted at once, and either anywhere: the table of
//! mounts says where, and which part of the tree. What a group has read from files and not used lately
//! (`inactive_file`) is given up before the group runs out, so it does not count as in use.
//!
//! A level that cannot be read limits nothing. This is a function over files, since configuration reads
//! none: the edge hands over how to.

use std::fmt;

/// From this value on a figure of version 1 means that there is no limit: the largest number of pages.
const UNLIMITED: u64 = 1 << 62;

/// How much memory is free, and what bounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// Bytes that may still be taken.
    pub bytes: u64,
    /// The tightest bound.
    pub bound: Bound,
}

/// What bounds memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// What the machine has left.
    Machine,
    /// The control group with this path below the mount of its tree.
    ControlGroup(String),
    /// The limit of the address space, `ulimit -v`.
    AddressSpace,
    /// The limit of data, `ulimit -d`.
    Data,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Machine => write!(f, "the machine"),
            Bound::ControlGroup(path) => write!(f, "the control group /{path}"),
            Bound::AddressSpace => write!(f, "the limit of the address space (ulimit -v)"),
            Bound::Data => write!(f, "the limit of data (ulimit -d)"),
        }
    }
}

/// The least that any bound leaves; nothing where none can be read. `read` gives the text of a file by
/// its absolute path.
///
/// ```
/// use somersault::control_group::{Bound, free};
///
/// let read = |name: &str| match name {
///     "/proc/meminfo" => Some("MemAvailable: 9 kB\n".to_owned()),
///     "/proc/self/cgroup" => Some("0::/a/b\n".to_owned()),
///     "/sys/fs/cgroup/a/b/memory.max" | "/sys/fs/cgroup/memory.max" => Some("max".to_owned()),
///     "/sys/fs/cgroup/a/memory.max" => Some("1000".to_owned()),
///     "/sys/fs/cgroup/a/memory.current" => Some("400".to_owned()),
///     _ => None,
/// };
/// let free = free(read).unwrap();
/// assert_eq!((free.bytes, free.bound), (600, Bound::ControlGroup("a".to_owned())));
/// ```
pub fn free(read: impl Fn(&str) -> Option<String>) -> Option<Free> {
    let mut all = Vec::new();
    let mut add = |bytes: Option<u64>, bound: Bound| {
        all.extend(bytes.map(|bytes| Free { bytes, bound }));
    };
    let available = read("/proc/meminfo").and_then(|text| kib_of(&text, "MemAvailable:"));
    add(available, Bound::Machine);
    let (limits, status) = (read("/proc/self/limits"), read("/proc/self/status"));
    let process = |limit: &str, used: &str| {
        let limit = soft_limit(limits.as_deref()?, limit)?;
        let used = status.as_deref().and_then(|text| kib_of(text, used));
        Some(limit.saturating_sub(used.unwrap_or(0)))
    };
    add(process("Max address space", "VmSize:"), Bound::AddressSpace);
    add(process("Max data size", "VmData:"), Bound::Data);
    let own = read("/proc/self/cgroup").unwrap_or_default();
    let mounts = read("/proc/self/mountinfo").unwrap_or_default();
    for tree in trees(&own, &mounts) {
        tree.add_levels(&read, &mut add);
    }
    all.into_iter().min_by_key(|free| free.bytes)
}

/// The bytes of a line of `name` and a figure in kB.
fn kib_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The soft limit of a line of `/proc/self/limits`; `None` where there is none.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A tree of groups that has figures of memory, and this process's place in it.
#[derive(Debug, PartialEq, Eq)]
struct Tree {
    version: Version,
    /// Where it is mounted.
    mount: String,
    /// The group below the mount, without slashes at its ends.
    group: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The trees that `/proc/self/cgroup` and `/proc/self/mountinfo` name.
fn trees(own: &str, mounts: &str) -> Vec<Tree> {
    let mut found = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let version = match controllers {
            // The only line of version 2 has no controllers.
            "" => Version::Two,
            named if named.split(',').any(|name| name == "memory") => Version::One,
            _ => continue,
        };
        let usual = match version {
            Version::One => "/sys/fs/cgroup/memory",
            Version::Two => "/sys/fs/cgroup",
        };
        let (root, mount) = mounted(mounts, version).unwrap_or(("/", usual));
        // The mount of a container may show its own group only.
        let below = path.strip_prefix(root.trim_end_matches('/'));
        let below = below.filter(|below| below.is_empty() || below.starts_with('/'));
        found.push(Tree {
            version,
            mount: mount.to_owned(),
            group: below.unwrap_or("").trim_matches('/').to_owned(),
        });
    }
    found
}

/// Which part of a tree is mounted, and where.
fn mounted(mounts: &str, version: Version) -> Option<(&str, &str)> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let is_wanted = match version {
            Version::Two => kind.next() == Some("cgroup2"),
            Version::One => {
                let options = kind.nth(2).unwrap_or_default();
                line.contains(" - cgroup ") && options.split(',').any(|one| one == "memory")
            }
        };
        let mut fields = place.split(' ').skip(3);
        let at = (fields.next()?, fields.next()?);
        is_wanted.then_some(at)
    })
}

impl Tree {
    /// What each level leaves, from the process's own group to the root.
    fn add_levels(
        &self,
        read: &impl Fn(&str) -> Option<String>,
        add: &mut impl FnMut(Option<u64>, Bound),
    ) {
        let mut level = self.group.as_str();
        loop {
            add(
                self.free_of(level, read),
                Bound::ControlGroup(level.to_owned()),
            );
            if level.is_empty() {
                return;
            }
            level = level.rsplit_once('/').map_or("", |(parent, _)| parent);
            let hierarchy = self.read(level, "memory.use_hierarchy", read);
            if hierarchy.is_some_and(|text| text.trim() == "0") {
                return;
            }
        }
    }

    fn free_of(&self, level: &str, read: &impl Fn(&str) -> Option<String>) -> Option<u64> {
        let figure = |name: &str| -> Option<u64> {
            // `max` is no number: no limit here.
            let figure = self.read(level, name, read)?.trim().parse().ok()?;
            (figure < UNLIMITED).then_some(figure)
        };
        let statistics = self.read(level, "memory.stat", read).unwrap_or_default();
        let statistic = |name: &str| -> Option<u64> {
            let line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
            statistics.lines().find_map(line)
        };
        let (limit, used, idle) = match self.version {
            Version::Two => (
                figure("memory.max"),
                figure("memory.current"),
                statistic("inactive_file"),
            ),
            Version::One => {
                let ancestors = statistic("hierarchical_memory_limit");
                let ancestors = ancestors.filter(|limit| *limit < UNLIMITED);
                let own = figure("memory.limit_in_bytes");
                (
                    own.into_iter().chain(ancestors).min(),
                    figure("memory.usage_in_bytes"),
                    statistic("total_inactive_file"),
                )
            }
        };
        let used = used.unwrap_or(0).saturating_sub(idle.unwrap_or(0));
        Some(limit?.saturating_sub(used))
    }

    fn read(
        &self,
        level: &str,
        name: &str,
        read: &impl Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let mount = self.mount.trim_end_matches('/');
        if level.is_empty() {
            read(&format!("{mount}/{name}"))
        } else {
            read(&format!("{mount}/{level}/{name}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free_in(files: &[(&str, &str)]) -> Option<(u64, String)> {
        let read = |name: &str| {
            let found = files.iter().find(|(file, _)| *file == name);
            found.map(|(_, text)| format!("{text}\n"))
        };
        free(read).map(|free| (free.bytes, free.bound.to_string()))
    }

    #[allow(clippy::unnecessary_wraps)] // as it is compared
    fn group(bytes: u64, path: &str) -> Option<(u64, String)> {
        Some((bytes, format!("the control group /{path}")))
    }

    #[test]
    fn the_least_of_all_levels_counts() {
        let files = |own: &'static str| {
            [
                ("/proc/self/cgroup", own),
                ("/sys/fs/cgroup/memory.max", "9000"),
                ("/sys/fs/cgroup/memory.current", "100"),
                ("/sys/fs/cgroup/system.slice/memory.max", "500"),
                ("/sys/fs/cgroup/system.slice/memory.current", "200"),
                ("/sys/fs/cgroup/system.slice/kg.service/memory.max", "2000"),
                (
                    "/sys/fs/cgroup/system.slice/kg.service/memory.current",
                    "150",
                ),
            ]
        };
        let own = "0::/system.slice/kg.service";
        assert_eq!(free_in(&files(own)), group(300, "system.slice"));
        assert_eq!(free_in(&files("0::/")), group(8900, ""));
        assert_eq!(free_in(&files("0::/elsewhere")), group(8900, ""));
        assert_eq!(free_in(&files("5:cpu:/system.slice")), None);
    }

    const BOTH: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";

    #[test]
    fn version_1_is_read_beside_version_2_without_its_controller() {
        let mut files = vec![
            ("/proc/self/cgroup", "4:memory:/a/b\n2:cpu:/\n0::/a"),
            ("/proc/self/mountinfo", BOTH),
            ("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "4000"),
            ("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "1000"),
            ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "3000"),
            ("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1200"),
            (
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712",
            ),
        ];
        assert_eq!(free_in(&files), group(1800, "a"));
        let cache = (
            "/sys/fs/cgroup/memory/a/memory.stat",
            "cache 9\ntotal_inactive_file 700",
        );
        files.push(cache);
        assert_eq!(free_in(&files), group(2500, "a"), "files are let go of");
        files.push(("/sys/fs/cgroup/unified/a/memory.max", "50"));
        assert_eq!(free_in(&files), group(50, "a"), "and both count");
    }

    #[test]
    fn ancestors_that_a_container_does_not_see_count() {
        let files = [
            ("/proc/self/cgroup", "4:memory:/docker/c1"),
            (
                "/proc/self/mountinfo",
                "35 31 0:32 /docker/c1 /mnt/groups ro - cgroup cgroup rw,memory",
            ),
            ("/mnt/groups/memory.limit_in_bytes", "9223372036854771712"),
            ("/mnt/groups/memory.usage_in_bytes", "100"),
            (
                "/mnt/groups/memory.stat",
                "rss 1\nhierarchical_memory_limit 600",
            ),
        ];
        assert_eq!(free_in(&files), group(500, ""));
    }

    #[test]
    fn groups_that_do_not_bound_those_below_are_left_out() {
        let files = [
            ("/proc/self/cgroup", "4:memory:/a/b"),
            ("/proc/self/mountinfo", BOTH),
            ("/sys/fs/cgroup/memory/a/memory.use_hierarchy", "0"),
            ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "10"),
            ("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "70"),
        ];
        assert_eq!(free_in(&files), group(70, "a/b"));
    }

    #[test]
    fn limits_of_the_process_and_the_machine_count() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
            Max data size             unlimited            unlimited            bytes\n\
            Max address space         8192000              unlimited            bytes";
        let mut files = vec![
            (
                "/proc/meminfo",
                "MemTotal: 100000 kB\nMemAvailable:     50000 kB",
            ),
            ("/proc/self/limits", limits),
            ("/proc/self/status", "VmPeak: 9000 kB\nVmSize:  3000 kB"),
        ];
        let bytes = 8_192_000 - 3000 * 1024;
        let bound = "the limit of the address space (ulimit -v)".to_owned();
        assert_eq!(free_in(&files), Some((bytes, bound)));
        files.remove(1);
        assert_eq!(
            free_in(&files),
            Some((50_000 << 10, "the machine".to_owned()))
        );
    }

    #[test]
    fn no_limit_is_none() {
        let unlimited = [
            ("/proc/self/cgroup", "0::/a"),
            ("/sys/fs/cgroup/a/memory.max", "max"),
            ("/sys/fs/cgroup/a/memory.current", "5"),
        ];
        assert_eq!(free_in(&unlimited), None);
        assert_eq!(free_in(&[]), None);
    }

    #[test]
    fn more_in_use_than_allowed_leaves_nothing() {
        let full = [
            ("/proc/self/cgroup", "0::/a/b"),
            ("/sys/fs/cgroup/a/memory.max", "10"),
            ("/sys/fs/cgroup/a/memory.current", "12"),
        ];
        assert_eq!(free_in(&full), group(0, "a"));
    }
}
