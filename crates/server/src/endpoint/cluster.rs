//! `/api/v1/cluster`: which nodes of the graph are there, as this one sees them, also while it waits for them.
//!
//! Addresses of other machines are nobody's business who may not read the graph, so it needs that right. Moments are
//! milliseconds since the epoch, as elsewhere in our own JSON.
//!
//! Cost: two short locks and the document.

use crate::endpoint::api::to_readers;
use crate::endpoint::call::json_text;
use crate::response::problem::Problem;
use crate::state::ServerState;
use axum::body::Body;
use axum::extract::State;
use hyper::{HeaderMap, Method, Response};
use serde_json::{Value, json};
use somersault::nodes::{ClusterState, MemberState, RefusedState, Seen};
use somersault::parts::part_name;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// `GET /api/v1/cluster`.
pub(crate) async fn answer(
    State(server): State<Arc<ServerState>>,
    headers: HeaderMap,
    method: Method,
) -> Response<Body> {
    let asked = (&headers, &method);
    to_readers(&server, asked, || match server.member() {
        Some(member) => Ok(json_text(&described(&member.state()))),
        None => Err(Problem::not_found("this server is no node of a cluster")),
    })
}

fn described(state: &ClusterState) -> Value {
    let placement = &state.placement;
    let members = state.members.iter().map(|member| {
        let owns = |owner: &&u16| **owner == member.number;
        let slots = placement.owners().iter().filter(owns).count();
        described_member(member, slots)
    });
    let mut document = json!({
        "here": state.here,
        "ready": state.is_ready,
        "graph": format!("{:032x}", state.graph),
        "generation": state.generation,
        "placement": {
            "nodes": placement.nodes(),
            "slots": placement.owners().len(),
            "block_bits": placement.shift(),
        },
        "nodes": members.collect::<Vec<Value>>(),
        "refused": state.refused.iter().map(described_refused).collect::<Vec<Value>>(),
    });
    if let Some(missing) = state.missing() {
        document["missing"] = missing.into();
    }
    document
}

fn described_member(member: &MemberState, slots: usize) -> Value {
    let (state, cause) = match &member.seen {
        Seen::Here => ("here", None),
        Seen::Up => ("up", None),
        Seen::Down(cause) => ("down", Some(cause)),
    };
    let mut document = json!({
        "node": member.number,
        "part": part_name(member.number),
        "address": member.address,
        "state": state,
        "since": milliseconds(member.since),
        "slots": slots,
    });
    if let Some(cause) = cause {
        document["cause"] = cause.as_str().into();
    }
    document
}

fn described_refused(refused: &RefusedState) -> Value {
    json!({ "who": refused.who, "reason": refused.reason, "since": milliseconds(refused.since) })
}

fn milliseconds(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
