//! The threads of the nodes of this process: one that polls each node's fabric, and workers that walk for it.
//!
//! | who | touches | when |
//! |---|---|---|
//! | a node's poller | its fabric, the node's messages | always; asleep in the fabric's poll |
//! | its workers | the node's sections that have something to do | woken by the node |
//!
//! Dropped, all threads end: pollers are woken, workers look at `is_over`.

use super::spans::{Spans, dated};
use super::{NodeOptions, PartNode};
use crate::accelerator::{Accelerator, SectionDevice};
use crate::budget::{Budget, Pool};
use crate::federation::{Federation, ServiceClient};
use crate::options::Options;
use crate::stop::StopToken;
use cluster::host::HomeSection;
use cluster::{Host, Span};
use explore::environment::EachSolution;
use explore::{MemoryBudget, Offloader, Service, ServiceError, Stop};
use fabric::Event;
use query::plan::Plan;
use rdf::{Placement, VertexId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::delta::Version;

/// How long a poll waits before its thread looks whether it is over.
const POLL: Duration = Duration::from_millis(200);

/// Sees what the fabric says, before the node does.
pub type Watch = Arc<dyn Fn(&Event) + Send + Sync>;

/// Wakes a node's workers.
#[derive(Default)]
struct Signal {
    /// Wakes that nobody has answered.
    wakes: Mutex<usize>,
    changed: Condvar,
}

impl Signal {
    fn wake(&self, most: usize) {
        let mut wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
        *wakes = (*wakes + 1).min(most);
        self.changed.notify_one();
    }

    fn wait(&self, is_over: &AtomicBool) {
        let wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = |wakes: &mut usize| *wakes == 0 && !is_over.load(Ordering::Relaxed);
        let waited = self.changed.wait_timeout_while(wakes, POLL, is_idle);
        let (mut wakes, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *wakes = wakes.saturating_sub(1);
    }
}

/// What a node of this process is given.
pub struct PartHost {
    pool: Arc<Pool>,
    client: Option<Arc<dyn ServiceClient>>,
    spans: Option<Arc<dyn Spans>>,
    /// Devices, and which of them is for the node.
    device: Option<(Arc<Accelerator>, usize)>,
    /// It, once the node has its part.
    part_device: OnceLock<Arc<SectionDevice>>,
    signal: Signal,
    workers: usize,
}

impl PartHost {
    /// A host whose queries share a pool, with so many workers.
    pub fn new(
        pool: Arc<Pool>,
        client: Option<Arc<dyn ServiceClient>>,
        workers: usize,
    ) -> Arc<PartHost> {
        Arc::new(PartHost {
            pool,
            client,
            spans: None,
            device: None,
            part_device: OnceLock::new(),
            signal: Signal::default(),
            workers: workers.max(1),
        })
    }

    /// A host by these options, of the node of this process that has this number. It tells what its node did of queries that are followed, and
    /// has the device of that number, where there is one.
    pub fn configured(
        pool: &Arc<Pool>,
        options: &Options,
        nodes: &NodeOptions,
        number: usize,
    ) -> Arc<PartHost> {
        let device = options.accelerator.as_ref();
        if let Some(device) = device {
            device.draw_on(pool);
        }
        Arc::new(PartHost {
            pool: Arc::clone(pool),
            client: options.service.clone(),
            spans: options.spans.clone(),
            device: device.map(|device| (Arc::clone(device), number)),
            part_device: OnceLock::new(),
            signal: Signal::default(),
            workers: nodes.workers.max(1),
        })
    }

    /// The node has this part of the graph, in which there are no changes.
    pub(super) fn has_part(
        &self,
        part: Version,
        placed: (u16, &Placement),
        kind: Option<VertexId>,
    ) {
        let device = self.device.as_ref();
        let device = device
            .and_then(|(all, number)| SectionDevice::of_part((all, *number), part, placed, kind));
        if let Some(device) = device {
            let _ = self.part_device.set(Arc::new(device));
        }
    }
}

impl Host for PartHost {
    fn memory(&self, bytes: u64) -> Arc<dyn MemoryBudget + Send> {
        Arc::new(Budget::new(&self.pool, bytes))
    }

    fn service(
        &self,
        time: Option<Duration>,
        stop: Arc<dyn Stop + Send>,
    ) -> Option<Arc<dyn Service + Send>> {
        let client = Arc::clone(self.client.as_ref()?);
        let token = StopToken::starting_now(time).with_other(stop);
        Some(Arc::new(Far { client, token }))
    }

    fn offloader(
        &self,
        plan: &Plan,
        section: HomeSection,
        memory: &Arc<dyn MemoryBudget + Send>,
    ) -> Option<Box<dyn Offloader>> {
        self.part_device.get()?.offloader(plan, section, memory)
    }

    fn wake(&self) {
        self.signal.wake(self.workers);
    }

    fn followed(&self, spans: Vec<Span>, now: Duration) {
        if let Some(taker) = &self.spans {
            taker.take(dated(spans, now));
        }
    }
}

/// Asks other endpoints for a query that is walked on several nodes, for as long as the query may take here.
struct Far {
    client: Arc<dyn ServiceClient>,
    token: StopToken,
}

impl Service for Far {
    fn select(
        &self,
        endpoint: &str,
        text: &str,
        variables: &[String],
        each: &mut EachSolution<'_>,
    ) -> Result<(), ServiceError> {
        let federation = Federation {
            client: &*self.client,
            token: &self.token,
        };
        federation.select(endpoint, text, variables, each)
    }
}

/// The threads; see the module's documentation.
pub struct Runner {
    is_over: Arc<AtomicBool>,
    nodes: Vec<(Arc<PartNode>, Arc<PartHost>)>,
    threads: Vec<JoinHandle<()>>,
}

impl Runner {
    /// Starts the threads of these nodes. An error: the system has no more.
    pub fn start(
        nodes: Vec<(Arc<PartNode>, Arc<PartHost>)>,
        watch: Option<&Watch>,
    ) -> std::io::Result<Runner> {
        let mut runner = Runner {
            is_over: Arc::default(),
            nodes,
            threads: Vec::new(),
        };
        for (node, host) in runner.nodes.clone() {
            let name = format!("node-{}", node.ground().here());
            let (polled, is_over) = (Arc::clone(&node), Arc::clone(&runner.is_over));
            let watch = watch.cloned();
            let poller = std::thread::Builder::new().name(name.clone());
            let poller = poller.spawn(move || poll(&polled, &is_over, watch.as_ref()))?;
            runner.threads.push(poller);
            for _ in 0..host.workers {
                let (node, host) = (Arc::clone(&node), Arc::clone(&host));
                let is_over = Arc::clone(&runner.is_over);
                let worker = std::thread::Builder::new().name(format!("{name}-walk"));
                let worker = worker.spawn(move || work(&node, &host, &is_over))?;
                runner.threads.push(worker);
            }
        }
        Ok(runner)
    }
}

fn poll(node: &PartNode, is_over: &AtomicBool, watch: Option<&Watch>) {
    let fabric = Arc::clone(node.ground().fabric());
    let mut events: Vec<Event> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        fabric.poll(&mut events, POLL);
        if let Some(watch) = watch {
            for event in &events {
                watch(event);
            }
        }
        node.handle(events.drain(..));
    }
    fabric.leave();
}

fn work(node: &PartNode, host: &PartHost, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        if !node.work() {
            host.signal.wait(is_over);
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for (node, host) in &self.nodes {
            node.ground().fabric().wake();
            host.signal.changed.notify_all();
        }
        for thread in self.threads.drain(..) {
            // A panic there has been reported by the thread; nothing of it is left to be mended.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::federation::ServiceError as Refusal;
    use crate::output::ResultFormat;
    use std::io::Read;

    /// Remembers how it was asked.
    #[derive(Default)]
    struct Double(Mutex<Vec<(Duration, StopToken)>>);

    impl ServiceClient for Double {
        fn select(
            &self,
            _endpoint: &str,
            _query: &str,
            timeout: Duration,
            stopped: StopToken,
        ) -> Result<(ResultFormat, Box<dyn Read + Send>), Refusal> {
            self.0.lock().unwrap().push((timeout, stopped));
            Err(Refusal {
                message: "it is a double".to_owned(),
                refused: false,
            })
        }
    }

    #[derive(Default)]
    struct Switch(AtomicBool);

    impl Stop for Switch {
        fn reason(&self) -> Option<explore::StopReason> {
            let is_on = self.0.load(Ordering::Relaxed);
            is_on.then_some(explore::StopReason::Cancelled)
        }
    }

    #[test]
    fn another_endpoint_has_the_time_of_the_query_and_ends_with_it() {
        let double = Arc::new(Double::default());
        let client = Arc::clone(&double) as Arc<dyn ServiceClient>;
        let host = PartHost::new(Pool::new(1 << 20), Some(client), 1);
        let (time, switch) = (Duration::from_secs(5), Arc::new(Switch::default()));
        let service = host.service(Some(time), Arc::clone(&switch) as Arc<_>);
        let asked = service.expect("there is a client").select(
            "http://example.org/sparql",
            "SELECT * {}",
            &[],
            &mut |_| Ok(()),
        );
        assert!(asked.is_err());
        let calls = double.0.lock().unwrap();
        let (timeout, stopped) = &calls[0];
        assert!(*timeout <= time, "{timeout:?}");
        assert_eq!(stopped.reason(), None);
        switch.0.store(true, Ordering::Relaxed);
        assert_eq!(stopped.reason(), Some(crate::stop::StopReason::Cancelled));
        assert_eq!(stopped.left(), Duration::ZERO);
    }
}
