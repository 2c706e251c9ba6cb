//! Nodes that have the key and speak nonsense: what an honest node does with them.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::key::Tls;
use super::preface::{PREFACE_BYTES, preface};
use super::{Key, Tcp, TcpConfig, hello};
use crate::event::{Absence, Event};
use crate::frame::{Decoder, Draft, Kind};
use crate::limits::Limits;
use crate::node::NodeId;
use crate::seam::Fabric;

/// Somebody with the key, who is node 1 and says what a test wants.
struct Speaker {
    tls: rustls::ClientConnection,
    socket: TcpStream,
    sequence: u64,
    decoder: Decoder,
}

fn config(here: u16) -> TcpConfig {
    TcpConfig {
        here: NodeId(here),
        members: vec![String::new(), String::new()],
        cluster: [1; 16],
        epoch: 1,
        key: Key::new(&[9; 32]).unwrap(),
        limits: Limits::DEFAULT,
    }
}

fn node() -> (Arc<Tcp>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (Tcp::start(listener, config(0)).unwrap(), address)
}

impl Speaker {
    fn dial(address: &str) -> Speaker {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.write_all(&preface()).unwrap();
        let mut came = [0; PREFACE_BYTES];
        socket.read_exact(&mut came).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let rustls::Connection::Client(mut tls) = Tls::new(&config(1).key).unwrap().dial().unwrap()
        else {
            panic!("who dials is the client");
        };
        while tls.is_handshaking() {
            tls.complete_io(&mut socket).unwrap();
        }
        let mut decoder = Decoder::new();
        decoder.trust(&Limits::DEFAULT);
        Speaker {
            tls,
            socket,
            sequence: 0,
            decoder,
        }
    }

    fn linked(address: &str) -> Speaker {
        let mut speaker = Speaker::dial(address);
        speaker.say(hello(&config(1)).unwrap().to(NodeId(0)).draft());
        assert_eq!(speaker.hear().map(|(kind, _)| kind), Some(Kind::Hello));
        speaker.say(Draft::short(Kind::Ready, Vec::new()));
        speaker
    }

    fn say(&mut self, draft: Draft) {
        let sealed = draft.seal(self.sequence);
        self.sequence += 1;
        self.write(&[sealed.head, sealed.rest].concat());
    }

    fn write(&mut self, bytes: &[u8]) {
        rustls::Stream::new(&mut self.tls, &mut self.socket)
            .write_all(bytes)
            .unwrap();
    }

    /// The next frame; `None` where the stream ends.
    fn hear(&mut self) -> Option<(Kind, Vec<u8>)> {
        loop {
            let mut byte = [0];
            let read = rustls::Stream::new(&mut self.tls, &mut self.socket).read(&mut byte);
            match read {
                Ok(1) => {}
                Ok(_) => return None,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
            if let Some(frame) = self.decoder.next(&mut &byte[..]).unwrap() {
                return Some((frame.kind, frame.body));
            }
        }
    }

    /// What the other says before it ends the stream.
    fn last_words(&mut self) -> String {
        let mut words = String::new();
        while let Some((kind, body)) = self.hear() {
            if kind == Kind::Refuse {
                words = String::from_utf8(body).unwrap();
            }
        }
        words
    }
}

fn wait(node: &Tcp, is_it: impl Fn(&Event) -> bool) -> Event {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        let mut events = Vec::new();
        node.poll(&mut events, Duration::from_millis(50));
        if let Some(event) = events.into_iter().find(|event| is_it(event)) {
            return event;
        }
    }
    panic!("in vain");
}

fn is_down(event: &Event) -> bool {
    matches!(event, Event::Down { .. })
}

fn cause(event: Event) -> String {
    match event {
        Event::Down {
            cause: Absence::Broken { reason },
            ..
        }
        | Event::Refused { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

/// A head that announces so many bytes.
fn announce(bytes: u32, sequence: u64) -> Vec<u8> {
    let mut head = Draft::short(Kind::Message, Vec::new()).seal(sequence).head;
    head[..4].copy_from_slice(&bytes.to_le_bytes());
    head
}

#[test]
fn a_length_of_a_gigabyte_ends_the_link_on_both_sides() {
    let (node, address) = node();
    let mut speaker = Speaker::linked(&address);
    speaker.write(&announce(1 << 30, 2));
    let expected = "a frame of 1073741824 bytes was announced, at most";
    let told = speaker.last_words();
    assert!(told.starts_with(expected), "{told}");
    let down = cause(wait(&node, is_down));
    assert!(down.starts_with(expected), "{down}");

    let mut stranger = Speaker::dial(&address);
    stranger.write(&announce(1 << 30, 0));
    let told = stranger.last_words();
    assert!(
        told.contains("no greeting of a node: a frame of 1073741824 bytes"),
        "{told}"
    );
    let refused = cause(wait(&node, |event| matches!(event, Event::Refused { .. })));
    assert_eq!(refused, told);
}

#[test]
fn a_frame_that_is_cut_short_is_told() {
    let (node, address) = node();
    let mut speaker = Speaker::linked(&address);
    let frame = Draft::short(Kind::Message, vec![0; 100]).seal(2).head;
    speaker.write(&frame[..50]);
    // Dropped, with something unread, it would be a reset.
    speaker.socket.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(
        cause(wait(&node, is_down)),
        "it ended in the middle of a frame"
    );
}

#[test]
fn nonsense_in_frames_ends_the_link_and_nothing_else() {
    let credit = u64::MAX.to_le_bytes().to_vec();
    let many_pieces = [
        1_u64.to_le_bytes().to_vec(),
        u32::MAX.to_le_bytes().to_vec(),
    ]
    .concat();
    let cases = [
        (
            Kind::Hello,
            Vec::new(),
            "a frame of kind Hello came at a wrong time",
        ),
        (
            Kind::Ready,
            Vec::new(),
            "a frame of kind Ready came at a wrong time",
        ),
        (
            Kind::Consumed,
            credit,
            "a frame of kind Consumed has 8 bytes, which is no such frame",
        ),
        (
            Kind::Heartbeat,
            vec![1],
            "a frame of kind Heartbeat has 1 bytes, which is no such frame",
        ),
        (
            Kind::Read,
            many_pieces.clone(),
            "a frame of kind Read has 12 bytes, which is no such frame",
        ),
        (
            Kind::Write,
            many_pieces,
            "a frame of kind Write has 12 bytes, which is no such frame",
        ),
        (
            Kind::Answer,
            vec![0; 49],
            "a frame of kind Answer came at a wrong time",
        ),
        (
            Kind::Echo,
            u64::MAX.to_le_bytes().to_vec(),
            "a frame of kind Echo has 8 bytes, which is no such frame",
        ),
    ];
    let (node, address) = node();
    for (kind, body, expected) in cases {
        let mut speaker = Speaker::linked(&address);
        wait(&node, |event| matches!(event, Event::Up { .. }));
        speaker.say(Draft::short(kind, body));
        let down = cause(wait(&node, is_down));
        assert_eq!(down, expected);
    }
}

#[test]
fn who_sends_more_than_its_credit_is_put_out() {
    let (node, address) = node();
    let mut speaker = Speaker::linked(&address);
    wait(&node, |event| matches!(event, Event::Up { .. }));
    // Nobody polls now.
    let message = vec![0; Limits::DEFAULT.message_bytes_max];
    for _ in 0..3 {
        let sealed = Draft {
            kind: Kind::Message,
            prefix: Vec::new(),
            rest: message.clone(),
        };
        let sealed = sealed.seal(speaker.sequence);
        speaker.sequence += 1;
        let mut stream = rustls::Stream::new(&mut speaker.tls, &mut speaker.socket);
        // The third may be refused while it is written.
        let _ = stream
            .write_all(&sealed.head)
            .and_then(|()| stream.write_all(&sealed.rest));
    }
    assert_eq!(
        cause(wait(&node, is_down)),
        "node 1 sent more than its credit"
    );
}

#[test]
fn who_greets_and_says_no_more_is_not_taken_for_present() {
    let (node, address) = node();
    let mut speaker = Speaker::dial(&address);
    speaker.say(hello(&config(1)).unwrap().to(NodeId(0)).draft());
    assert_eq!(speaker.hear().map(|(kind, _)| kind), Some(Kind::Hello));
    assert_eq!(speaker.last_words(), "");
    let mut events = Vec::new();
    node.poll(&mut events, Duration::ZERO);
    assert!(events.is_empty(), "{events:?}");
}
