//! How nodes prove to each other that they belong to one cluster: TLS 1.3 in which both sides show the same raw public key.
//!
//! All nodes of a cluster have one secret. From it each derives the same Ed25519 key pair, shows its public half in the
//! handshake (RFC 7250, no certificates) and accepts no other than its own: so both prove that they have the secret, and
//! what follows is encrypted with keys of that connection alone. Why so: rustls has no handshake with a pre-shared key, and
//! a cluster of one operator needs no authority, no names and no dates that run out; which node somebody is, its greeting
//! says, and whoever has the secret may be any node.
//!
//! The public half reaches everybody who connects, so that the secret could be guessed from it at leisure: it has to be 32
//! random bytes at least, and never a word.

use std::fmt;
use std::sync::Arc;

use ring::hmac;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::ring::{default_provider, sign::any_eddsa_type};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct,
    DistinguishedName, Error, ServerConfig, ServerConnection, SignatureScheme,
};

/// How long a secret is at least (bytes).
pub const KEY_BYTES_MIN: usize = 32;

/// What the key pair is derived for. Another purpose gives another pair.
const PURPOSE: &[u8] = b"somersault fabric 1: the nodes' key pair";

/// How an Ed25519 private key is written (RFC 8410 section 7): this, and 32 bytes.
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// The secret that all nodes of a cluster have.
#[derive(Clone)]
pub struct Key {
    bytes: Vec<u8>,
}

/// A secret that could be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key of {bytes} bytes is too short: make one of {KEY_BYTES_MIN} random bytes, the same for all nodes"
)]
pub struct KeyTooShort {
    /// How long it is (bytes).
    pub bytes: usize,
}

impl Key {
    /// A secret of random bytes, [`KEY_BYTES_MIN`] at least.
    pub fn new(bytes: &[u8]) -> Result<Key, KeyTooShort> {
        if bytes.len() < KEY_BYTES_MIN {
            let bytes = bytes.len();
            return Err(KeyTooShort { bytes });
        }
        let bytes = bytes.to_vec();
        Ok(Key { bytes })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Makes the two sides of encrypted connections.
pub(super) struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Tls {
    pub(super) fn new(key: &Key) -> Result<Tls, Error> {
        let provider = Arc::new(default_provider());
        let pair = Arc::new(derive(key)?);
        let verifier = Arc::new(SameKey {
            public: pair.cert[0].to_vec(),
            algorithms: provider.signature_verification_algorithms,
        });
        Ok(Tls {
            client: Arc::new(client(&provider, &verifier, &pair)?),
            server: Arc::new(server(provider, verifier, pair)?),
        })
    }

    /// The side that dials.
    pub(super) fn dial(&self) -> Result<Connection, Error> {
        // No name is looked at, and none is sent.
        let name =
            ServerName::try_from("node.invalid").map_err(|_| Error::General(String::new()))?;
        let connection = ClientConnection::new(Arc::clone(&self.client), name)?;
        Ok(Connection::from(connection))
    }

    /// The side that is dialled.
    pub(super) fn accept(&self) -> Result<Connection, Error> {
        let connection = ServerConnection::new(Arc::clone(&self.server))?;
        Ok(Connection::from(connection))
    }
}

fn client(
    provider: &Arc<CryptoProvider>,
    verifier: &Arc<SameKey>,
    pair: &Arc<CertifiedKey>,
) -> Result<ClientConfig, Error> {
    let verifier: Arc<SameKey> = Arc::clone(verifier);
    let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
            Arc::clone(pair),
        )));
    config.enable_sni = false;
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn server(
    provider: Arc<CryptoProvider>,
    verifier: Arc<SameKey>,
    pair: Arc<CertifiedKey>,
) -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(pair)));
    // Nobody comes back with a ticket: links last as long as nodes do.
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// The key pair of a secret, with its public half where a certificate would be.
fn derive(key: &Key) -> Result<CertifiedKey, Error> {
    let secret = hmac::Key::new(hmac::HMAC_SHA256, &key.bytes);
    let seed = hmac::sign(&secret, PURPOSE);
    let pkcs8 = [&PKCS8_HEAD, seed.as_ref()].concat();
    let signer = any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8))?;
    let public = signer
        .public_key()
        .ok_or_else(|| Error::General("no public key".to_owned()))?;
    let certificate = CertificateDer::from(public.to_vec());
    Ok(CertifiedKey::new(vec![certificate], signer))
}

/// Accepts whoever has this node's own key pair.
#[derive(Debug)]
struct SameKey {
    public: Vec<u8>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl SameKey {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        // Public on both sides, so that it may take as long as it takes.
        if shown.as_ref() == self.public {
            return Ok(());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let public = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &public, signature, &self.algorithms)
    }

    fn no_tls12() -> Error {
        Error::General("TLS 1.2 is not spoken between nodes".to_owned())
    }
}

impl ServerCertVerifier for SameKey {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(SameKey::no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for SameKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(SameKey::no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
