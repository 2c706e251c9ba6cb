//! Layers, origins, and what is refused.

use super::*;
use engine::accelerator::Offload;

const MACHINE: Machine = Machine {
    cores: 2,
    free_memory_bytes: 10 << 30,
};

#[test]
fn defaults_follow_the_machine() {
    let config = Layers::new().check(MACHINE).unwrap();
    assert_eq!(config.memory_pool_bytes, 6 << 30);
    assert_eq!(config.query_memory_bytes, (6 << 30) / 4);
    assert_eq!(config.query_threads, 2);
    assert_eq!(config.timeout, Duration::from_secs(30));
}

#[test]
fn a_query_may_not_take_more_than_the_pool() {
    let mut layers = Layers::new();
    let limit = "7GiB".to_owned();
    layers
        .add_flag("--memory-limit", "query.memory_limit", limit)
        .unwrap();
    assert_eq!(
        layers.check(MACHINE).unwrap_err().to_string(),
        "flag --memory-limit: `query.memory_limit` = 7.0 GiB is more than \
         `query.memory_pool` = 6.0 GiB (default)"
    );
    let pool = "7GiB".to_owned();
    layers
        .add_flag("--pool", "query.memory_pool", pool)
        .unwrap();
    assert!(layers.check(MACHINE).is_ok());
}

#[test]
fn what_is_automatic_follows_the_memory_that_a_load_leaves() {
    let before = Layers::new().check(MACHINE).unwrap();
    let after = before.with_free_memory(5 << 30);
    assert_eq!(after.memory_pool_bytes, (5 << 30) / 10 * 6);
    assert_eq!(after.query_memory_bytes, after.memory_pool_bytes / 4);
    assert_eq!(before.with_free_memory(20 << 30), before);

    let mut layers = Layers::new();
    layers
        .add_file("f", "[query]\nmemory_limit = \"4GiB\"")
        .unwrap();
    let after = layers.check(MACHINE).unwrap().with_free_memory(5 << 30);
    assert_eq!(after.query_memory_bytes, after.memory_pool_bytes);

    layers
        .add_file("f", "[query]\nmemory_pool = \"5GiB\"")
        .unwrap();
    let configured = layers.check(MACHINE).unwrap();
    assert_eq!(configured.with_free_memory(1 << 30), configured);
}

#[test]
fn layers_override_in_order_and_say_so() {
    let mut layers = Layers::new();
    layers
        .add_file("somersault.toml", "[query]\ntimeout = \"5s\"\nthreads = 3")
        .unwrap();
    let variable = ("SOMERSAULT_QUERY__TIMEOUT".to_owned(), "6s".to_owned());
    layers
        .add_environment([variable, ("PATH".to_owned(), "x".to_owned())])
        .unwrap();
    layers
        .add_flag("--threads", "query.threads", "4".to_owned())
        .unwrap();
    let config = layers.check(MACHINE).unwrap();
    assert_eq!(
        (config.timeout, config.query_threads),
        (Duration::from_secs(6), 4)
    );
    let shown = layers.show();
    let timeout = shown
        .iter()
        .find(|(key, _, _)| *key == "query.timeout")
        .unwrap();
    assert_eq!(
        timeout.2.to_string(),
        "environment SOMERSAULT_QUERY__TIMEOUT"
    );
}

#[test]
fn a_collector_has_the_name_of_opentelemetry_too_and_ours_is_over_it() {
    let ours = ("SOMERSAULT_TRACE__OTLP_ENDPOINT", "http://ours:4318");
    let theirs = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://theirs:4318");
    let endpoint = |variables: &[(&str, &str)]| {
        let mut layers = Layers::new();
        let file = "[trace]\notlp_endpoint = \"http://file:4318\"";
        layers.add_file("f", file).unwrap();
        let owned = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        layers.add_environment(owned).unwrap();
        layers.check(MACHINE).unwrap().otlp_endpoint.unwrap()
    };
    assert_eq!(endpoint(&[]), "http://file:4318");
    assert_eq!(
        endpoint(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]),
        "http://file:4318"
    );
    assert_eq!(endpoint(&[theirs]), theirs.1);
    assert_eq!(endpoint(&[ours, theirs]), ours.1);
    assert_eq!(endpoint(&[theirs, ours]), ours.1);
    assert_eq!(Layers::new().check(MACHINE).unwrap().otlp_endpoint, None);
}

#[test]
fn a_list_is_an_array_or_has_commas() {
    let mut layers = Layers::new();
    assert!(layers.check(MACHINE).unwrap().services.is_empty());
    let file = "[service]\nallow = [\"https://a.example/\", \"https://b.example/x\"]";
    layers.add_file("f", file).unwrap();
    let both = ["https://a.example/", "https://b.example/x"];
    assert_eq!(layers.check(MACHINE).unwrap().services, both);
    let flag = "https://a.example/, https://b.example/x".to_owned();
    layers
        .add_flag("--allow-service", "service.allow", flag)
        .unwrap();
    assert_eq!(layers.check(MACHINE).unwrap().services, both);
}

#[test]
fn tokens_have_rights_and_are_not_shown() {
    let secret = "0123456789abcdef";
    for file in [
        format!("[auth]\ntokens = [{{ token = \"{secret}\", rights = \"write\" }}]"),
        format!("[[auth.tokens]]\ntoken = \"{secret}\"\nrights = \"write\""),
        format!("[auth]\ntokens = [\"write:{secret}\"]"),
    ] {
        let mut layers = Layers::new();
        layers.add_file("f", &file).unwrap();
        let config = layers.check(MACHINE).unwrap();
        assert_eq!(config.tokens.len(), 1, "{file}");
        assert_eq!(config.tokens[0].right, Right::Write);
        assert_eq!(config.tokens[0].secret, secret);
        assert!(config.may_be_changed());
        assert_eq!(config.anonymous, Some(Right::Read));
        let shown = format!("{:?} {config:?}", layers.show());
        assert!(!shown.contains(secret), "{shown}");
    }
    for bad in [
        "write",
        "write:short",
        "all:0123456789abcdef",
        "read:0123456789 bcdefg",
    ] {
        let mut layers = Layers::new();
        let file = format!("[auth]\ntokens = [\"{bad}\"]");
        layers.add_file("f", &file).unwrap();
        let error = layers.check(MACHINE).unwrap_err().to_string();
        let secret = bad.split(':').nth(1).unwrap_or("no such");
        assert!(!error.contains(secret), "{error}");
    }
}

#[test]
fn everybody_may_change_only_where_it_is_said() {
    let config = Layers::new().check(MACHINE).unwrap();
    assert!(!config.may_be_changed());
    assert_eq!(config.anonymous, Some(Right::Read));
    let mut layers = Layers::new();
    layers
        .add_flag("--allow-update", "server.allow_update", "true".to_owned())
        .unwrap();
    let config = layers.check(MACHINE).unwrap();
    assert_eq!(config.anonymous, Some(Right::Write));
    layers
        .add_file("f", "[auth]\nanonymous = \"none\"")
        .unwrap();
    assert!(layers.check(MACHINE).is_err());
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let mut layers = Layers::new();
    let error = layers
        .add_file("somersault.toml", "[query]\ntimout = \"5s\"")
        .unwrap_err();
    let message = error.to_string();
    assert_eq!(
        message,
        "file somersault.toml: unknown key `query.timout`; did you mean `query.timeout`?"
    );
    assert!(layers.add_file("f", "colour = 1").is_err());
}

#[test]
fn a_bad_value_names_its_origin() {
    let mut layers = Layers::new();
    layers
        .add_flag("--timeout", "query.timeout", "30".to_owned())
        .unwrap();
    let message = layers.check(MACHINE).unwrap_err().to_string();
    assert!(
        message.starts_with("flag --timeout: `query.timeout` = `30`:"),
        "{message}"
    );
}

#[test]
fn a_server_ends_at_once_for_new_requests_and_later_for_old_ones() {
    let seconds = Duration::from_secs;
    let config = Layers::new().check(MACHINE).unwrap();
    assert_eq!(
        (config.shutdown_delay, config.drain),
        (seconds(0), seconds(5))
    );
    let mut layers = Layers::new();
    let file = "[server]\nshutdown_delay = \"10s\"\ndrain = \"1m\"";
    layers.add_file("f", file).unwrap();
    let variable = ("SOMERSAULT_SERVER__DRAIN".to_owned(), "90s".to_owned());
    layers.add_environment([variable]).unwrap();
    let config = layers.check(MACHINE).unwrap();
    assert_eq!(
        (config.shutdown_delay, config.drain),
        (seconds(10), seconds(90))
    );
    let shown = layers.show();
    let origin = |key| {
        let found = shown.iter().find(|(name, _, _)| *name == key);
        found.unwrap().2.to_string()
    };
    assert_eq!(origin("server.shutdown_delay"), "file f");
    let drain = origin("server.drain");
    assert_eq!(drain, "environment SOMERSAULT_SERVER__DRAIN");
    layers.add_file("f", "[server]\ndrain = 5").unwrap();
    let error = layers.check(MACHINE).unwrap_err().to_string();
    assert!(
        error.starts_with("file f: `server.drain` = `5`:"),
        "{error}"
    );
}

#[test]
fn hosts_are_names_without_ports() {
    let hosts = |text: &str| {
        let mut layers = Layers::new();
        layers.add_file("f", text).unwrap();
        layers.check(MACHINE).map(|config| config.hosts)
    };
    let both = "[server]\nhosts = [\"KG.example\", \"kg2.example.\", \"[2001:db8::1]\"]";
    assert_eq!(
        hosts(both).unwrap(),
        ["kg.example", "kg2.example", "[2001:db8::1]"]
    );
    assert!(hosts("").unwrap().is_empty());
    for bad in [
        "http://kg.example",
        "kg.example:80",
        "kg example",
        "*",
        "[x]",
    ] {
        let error = hosts(&format!("[server]\nhosts = \"{bad}\"")).unwrap_err();
        assert!(error.to_string().contains("no name of a host"), "{error}");
    }
}

#[test]
fn upkeep_is_of_admins_unless_it_is_opened() {
    let upkeep = |value: Option<&str>| {
        let mut layers = Layers::new();
        let variable = value.map(|value| ("SOMERSAULT_API__OPEN".to_owned(), value.to_owned()));
        layers.add_environment(variable).unwrap();
        layers.check(MACHINE).map(|config| config.upkeep)
    };
    assert_eq!(upkeep(None).unwrap(), Upkeep::OfAdmins);
    assert_eq!(upkeep(Some("false")).unwrap(), Upkeep::OfAdmins);
    assert_eq!(upkeep(Some("true")).unwrap(), Upkeep::OfAll);
    assert!(upkeep(Some("yes")).is_err());
}

#[test]
fn a_folder_for_kept_answers_is_named_or_chosen() {
    let folder = |text: &str| {
        let mut layers = Layers::new();
        layers.add_file("f", text).unwrap();
        layers.check(MACHINE).map(|config| config.spool_folder)
    };
    assert_eq!(folder("").unwrap(), None);
    let named = folder("[server]\nspool_folder = \"/var/spool/kg\"").unwrap();
    assert_eq!(named, Some(PathBuf::from("/var/spool/kg")));
    let error = folder("[server]\nspool_folder = \"\"").unwrap_err();
    assert!(error.to_string().contains("no folder"), "{error}");
}

#[test]
fn the_gpu_is_for_heavy_queries_unless_somebody_says_otherwise() {
    let config = Layers::new().check(MACHINE).unwrap();
    assert_eq!(config.gpu, GpuConfig::default());
    let automatic = (config.gpu.offload, config.gpu.devices);
    assert_eq!(automatic, (Offload::Auto, vec![vec![0]]));

    let mut layers = Layers::new();
    let text = "[gpu]\nuse = \"always\"\ndevice = \"1, 0 + 2\"\nimages = \"2GiB\"\ntables = \"1GiB\"\nhost = \"3GiB\"";
    layers.add_file("f", text).unwrap();
    let config = layers.check(MACHINE).unwrap();
    assert_eq!(
        (config.gpu.offload, config.gpu.devices),
        (Offload::Always, vec![vec![1], vec![0, 2]])
    );
    let sizes = (config.gpu.images_bytes, config.gpu.tables_bytes);
    assert_eq!(sizes, (Some(2 << 30), Some(1 << 30)));
    assert_eq!(config.gpu.host_bytes, Some(3 << 30));

    for (key, value, reason) in [
        ("gpu.use", "often", "expected auto, never or always"),
        (
            "gpu.device",
            "-1",
            "expected numbers of cards, as in 0 or 0,1 or 0+1",
        ),
        ("gpu.tables", "1KiB", "expected at least 1.0 MiB"),
    ] {
        let mut layers = Layers::new();
        layers.add_flag("--gpu", key, value.to_owned()).unwrap();
        let said = layers.check(MACHINE).unwrap_err().to_string();
        assert_eq!(said, format!("flag --gpu: `{key}` = `{value}`: {reason}"));
    }
}

#[test]
fn a_node_has_its_paths_beside_its_file() {
    let text = "[node]\npart = \"part-0001\"\nnumber = 1\n[cluster]\nkey = \"/etc/key\"\n\
                nodes = [\"a.example:7373\", \"10.0.0.2:7373\"]";
    let mut layers = Layers::new();
    layers.add_file("etc/node.toml", text).unwrap();
    let config = layers.check(MACHINE).unwrap();
    let expected = NodeConfig {
        part: Some(PathBuf::from("etc/part-0001")),
        number: Some(1),
        listen: None,
        address: None,
        nodes: vec!["a.example:7373".to_owned(), "10.0.0.2:7373".to_owned()],
        etcd: Vec::new(),
        prefix: "somersault".to_owned(),
        key: Some(PathBuf::from("/etc/key")),
    };
    assert_eq!(config.node, expected);
    let text = "[node]\naddress = \"a.example:7373\"\n[cluster]\netcd = [\"http://a:2379\", \"http://b:2379\"]\nprefix = \"/x/\"";
    let mut layers = Layers::new();
    layers.add_file("etc/node.toml", text).unwrap();
    let config = layers.check(MACHINE).unwrap();
    let expected = NodeConfig {
        part: None,
        number: None,
        listen: None,
        address: Some("a.example:7373".to_owned()),
        nodes: Vec::new(),
        etcd: vec!["http://a:2379".to_owned(), "http://b:2379".to_owned()],
        prefix: "/x".to_owned(),
        key: None,
    };
    assert_eq!(config.node, expected);
}

#[test]
fn what_names_no_node_is_refused() {
    for (key, value, reason) in [
        ("cluster.nodes", "a:1,b", "`b` is no host and port"),
        (
            "cluster.nodes",
            "a:1,a:1",
            "is there twice, as node 0 and as node 1",
        ),
        ("node.listen", ":7373", "`:7373` is no host and port"),
        ("node.address", "a", "`a` is no host and port"),
        ("cluster.prefix", "//", "expected a key below which"),
        (
            "node.number",
            "first",
            "expected auto, or the number of a part",
        ),
    ] {
        let mut layers = Layers::new();
        layers.add_flag("--x", key, value.to_owned()).unwrap();
        let error = layers.check(MACHINE).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains(key), "{error}");
    }
}
