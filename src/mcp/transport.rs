//! JSON-RPC messages, one a line, read so that nothing that comes in can end the server or fill
//! its memory: lines have a largest length, requests wait while too much of them is in work, and
//! nothing more is read while answers are not taken. What is no message is skipped; a request
//! that does not fit the protocol gets an error with its own id, so that nobody waits for ever.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetExtensions as _, GetMeta as _, JsonRpcMessage,
    ProtocolVersion, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::PATIENCE;

/// Requests in work hold at most this many shares of their text.
const SHARES: u32 = 512;

/// Bytes of text a share stands for.
const SHARE: usize = 64 << 10;

/// Nothing is read while more answers than this wait to be written.
const MAX_UNSENT: usize = 64;

/// A line buffer that grew beyond this is given back.
const KEPT_BUFFER: usize = 1 << 20;

/// One connection.
pub(super) struct Lines<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    largest: usize,
    /// The rest of a line that was too long is skipped.
    skipping: bool,
    /// A request that was read and waits for shares.
    waiting: Option<(Box<ClientJsonRpcMessage>, u32)>,
    /// Until when requests in work are waited for, once the input has ended.
    end: Option<Instant>,
    /// Whether the client has begun; what comes before and is no request is nothing to us.
    begun: bool,
    shares: Arc<Semaphore>,
    writer: Arc<Writer<W>>,
}

struct Writer<W> {
    output: Mutex<Option<W>>,
    unsent: AtomicUsize,
    taken: Notify,
}

impl<W: AsyncWrite + Send + Unpin> Writer<W> {
    /// Writes one line, whole: lines of several answers never mix.
    async fn write(&self, line: &[u8]) -> io::Result<()> {
        let mut output = self.output.lock().await;
        let Some(output) = output.as_mut() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        output.write_all(line).await?;
        output.flush().await
    }
}

/// Counts an answer as unsent for as long as it lives.
struct Unsent<W>(Arc<Writer<W>>);

impl<W> Unsent<W> {
    fn new(writer: &Arc<Writer<W>>) -> Self {
        writer.unsent.fetch_add(1, Ordering::SeqCst);
        Self(writer.clone())
    }
}

impl<W> Drop for Unsent<W> {
    fn drop(&mut self) {
        self.0.unsent.fetch_sub(1, Ordering::SeqCst);
        self.0.taken.notify_one();
    }
}

/// What a line was.
enum Read {
    Line,
    TooLong,
    End,
}

/// What a line says.
enum Said {
    Message(Box<ClientJsonRpcMessage>),
    /// To be answered by this line.
    Misfit(Value),
    Nothing,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(reader: R, writer: W, largest: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(SHARE, reader),
            line: Vec::new(),
            largest,
            skipping: false,
            waiting: None,
            end: None,
            begun: false,
            shares: Arc::new(Semaphore::new(SHARES as usize)),
            writer: Arc::new(Writer {
                output: Mutex::new(Some(writer)),
                unsent: AtomicUsize::new(0),
                taken: Notify::new(),
            }),
        }
    }

    /// Reads the next line into `self.line`. May be dropped at any time and called again: what
    /// was read so far stays.
    async fn read_line(&mut self) -> Read {
        loop {
            let available = match self.reader.fill_buf().await {
                Ok(available) => available,
                Err(cause) => {
                    tracing::warn!(%cause, "cannot read from the connection");
                    return Read::End;
                }
            };
            if available.is_empty() {
                // The last line may lack its end.
                return if self.line.is_empty() || self.skipping {
                    Read::End
                } else {
                    Read::Line
                };
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let count = end.map_or(available.len(), |end| end + 1);
            let too_long = !self.skipping && self.line.len() + count > self.largest;
            if !self.skipping && !too_long {
                self.line.extend_from_slice(&available[..count]);
            }
            self.reader.consume(count);
            if too_long {
                self.line = Vec::new();
                self.skipping = end.is_none();
                return Read::TooLong;
            }
            match (end, self.skipping) {
                (Some(_), true) => self.skipping = false,
                (Some(_), false) => return Read::Line,
                (None, _) => {}
            }
        }
    }

    /// Answers outside of a call.
    fn reply(&self, answer: &Value) {
        let unsent = Unsent::new(&self.writer);
        let line = format!("{answer}\n");
        tokio::spawn(async move {
            // Where nobody listens there is nobody to tell.
            let _ = unsent.0.write(line.as_bytes()).await;
        });
    }

    /// Whether a message is to be handed on: before the client has begun, nothing but requests.
    fn lets_pass(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if !self.begun
            && let JsonRpcMessage::Request(request) = message
        {
            self.begun = match &request.request {
                ClientRequest::InitializeRequest(_) => true,
                ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
                request => {
                    let meta = request.get_meta();
                    let newest = &ProtocolVersion::V_2026_07_28;
                    meta.missing_required_keys(newest).is_empty()
                        && meta
                            .protocol_version()
                            .is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it))
                }
            };
            return true;
        }
        self.begun
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let unsent = Unsent::new(&self.writer);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            unsent.0.write(&line).await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some((_, shares)) = &self.waiting {
                let shares = self.shares.clone().acquire_many_owned(*shares).await.ok()?;
                let (mut message, _) = self.waiting.take()?;
                if let JsonRpcMessage::Request(request) = message.as_mut() {
                    // Given back when the request was dealt with, answered or not.
                    let held: Arc<OwnedSemaphorePermit> = Arc::new(shares);
                    request.request.extensions_mut().insert(held);
                }
                return Some(*message);
            }
            while self.writer.unsent.load(Ordering::SeqCst) > MAX_UNSENT {
                self.writer.taken.notified().await;
            }
            match self.read_line().await {
                Read::End => {
                    // Whoever closed the input may still wait for answers.
                    let end = *self.end.get_or_insert_with(|| Instant::now() + PATIENCE);
                    let all = self.shares.acquire_many(SHARES);
                    if tokio::time::timeout_at(end, all).await.is_err() {
                        tracing::warn!("requests were still in work long after the end of input");
                    }
                    return None;
                }
                Read::TooLong => {
                    let largest = self.largest;
                    tracing::warn!(largest, "a message was too long and was skipped");
                    let message = format!("a message has more than {largest} bytes");
                    self.reply(&misfit(&Value::Null, -32600, &message));
                    continue;
                }
                Read::Line => {}
            }
            let shares = shares_of(self.line.len());
            let said = understand(&self.line);
            self.line.clear();
            if self.line.capacity() > KEPT_BUFFER {
                self.line = Vec::new();
            }
            match said {
                Said::Message(message) if self.lets_pass(&message) => match *message {
                    JsonRpcMessage::Request(_) => self.waiting = Some((message, shares)),
                    message => return Some(message),
                },
                Said::Message(_) | Said::Nothing => {}
                Said::Misfit(answer) => self.reply(&answer),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.output.lock().await.take();
        Ok(())
    }
}

fn shares_of(length: usize) -> u32 {
    u32::try_from(1 + length / SHARE)
        .unwrap_or(SHARES)
        .min(SHARES)
}

fn misfit(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Methods that are served.
const METHODS: &[&str] = &[
    "completion/complete",
    "initialize",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// Whether a request of a known method was taken for one of an unknown method, which is what the
/// protocol library makes of parameters that do not fit.
fn is_misfit(message: &ClientJsonRpcMessage) -> bool {
    match message {
        JsonRpcMessage::Request(request) => match &request.request {
            ClientRequest::CustomRequest(custom) => METHODS.contains(&custom.method.as_str()),
            _ => false,
        },
        _ => false,
    }
}

/// A value of JSON takes two bytes of a line and hundreds in memory; no request needs so many.
const MAX_VALUES: usize = 100_000;

/// Whether a text of JSON holds more than [`MAX_VALUES`] values, seen without parsing it.
pub(crate) fn has_too_many_values(json: &[u8]) -> bool {
    let (mut values, mut in_text, mut escaped) = (0, false, false);
    for &byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values > MAX_VALUES
}

/// What a line says.
fn understand(line: &[u8]) -> Said {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Said::Nothing;
    }
    if has_too_many_values(line) {
        tracing::warn!(MAX_VALUES, "a message of too many values was skipped");
        let message = format!("a message has more than {MAX_VALUES} values");
        return Said::Misfit(misfit(&Value::Null, -32600, &message));
    }
    if let Ok(message) = serde_json::from_slice(line)
        && !is_misfit(&message)
    {
        return Said::Message(Box::new(message));
    }
    // No message of the protocol. Where it can be seen who asked, they are told.
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        tracing::debug!("a line that is not JSON was skipped");
        return Said::Nothing;
    };
    match &value {
        Value::Array(_) => Said::Misfit(misfit(
            &Value::Null,
            -32600,
            "batches are not part of this protocol; send one message a line",
        )),
        Value::Object(members) => match (members.get("id"), members.get("method")) {
            (Some(id @ (Value::String(_) | Value::Number(_))), method) => {
                let (code, message) = match method {
                    Some(Value::String(method)) => (-32602, misfit_of(method, &value)),
                    Some(_) => (-32600, "method is no text".to_owned()),
                    // An answer to nothing that was asked.
                    None => return Said::Nothing,
                };
                Said::Misfit(misfit(id, code, &message))
            }
            (Some(_), Some(_)) => Said::Misfit(misfit(
                &Value::Null,
                -32600,
                "the id of a request is a text or a whole number",
            )),
            _ => Said::Nothing,
        },
        _ => Said::Nothing,
    }
}

/// Says what is wrong with the parameters of a request.
fn misfit_of(method: &str, request: &Value) -> String {
    if request.get("jsonrpc") != Some(&json!("2.0")) {
        return "jsonrpc must be \"2.0\"".to_owned();
    }
    if !request["id"].is_string() && request["id"].as_i64().is_none() {
        return "the id of a request is a text or a whole number".to_owned();
    }
    let params = &request["params"];
    if !params.is_object() {
        return format!("the params of {method} must be an object");
    }
    if method == "tools/call" {
        if !params["name"].is_string() {
            return "tools/call needs the name of a tool".to_owned();
        }
        if !params["arguments"].is_object() {
            return "the arguments of a tool must be an object".to_owned();
        }
    }
    format!("the params of {method} do not fit the protocol")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> Option<Value> {
        match understand(line.as_bytes()) {
            Said::Misfit(answer) => Some(answer),
            Said::Message(_) => panic!("{line} is a message"),
            Said::Nothing => None,
        }
    }

    #[test]
    fn values_are_counted_before_they_are_made() {
        let list = |count: usize| format!("{{\"a\":[{}1]}}", "1,".repeat(count - 1));
        assert!(!has_too_many_values(list(MAX_VALUES - 1).as_bytes()));
        assert!(has_too_many_values(list(MAX_VALUES).as_bytes()));
        let text = format!("[\"\\\"{}\"]", ",".repeat(MAX_VALUES));
        assert!(!has_too_many_values(text.as_bytes()), "a text is one value");
        let text = format!("[\"\\\\\"{}]", ",".repeat(MAX_VALUES));
        assert!(has_too_many_values(text.as_bytes()));
        let refused = answer(&list(MAX_VALUES)).unwrap();
        assert_eq!(refused["error"]["code"], -32600);
    }

    #[test]
    fn a_request_that_does_not_fit_is_answered_by_its_id() {
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"llmwiki_search","arguments":"x"}}"#;
        let refused = answer(call).unwrap();
        assert_eq!(refused["id"], 7);
        assert_eq!(refused["error"]["code"], -32602);
        assert_eq!(
            refused["error"]["message"],
            "the arguments of a tool must be an object"
        );
        let wrong = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":5}}"#;
        assert_eq!(answer(wrong).unwrap()["id"], "a");
        let old = r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#;
        assert_eq!(
            answer(old).unwrap()["error"]["message"],
            "jsonrpc must be \"2.0\""
        );
        assert_eq!(answer("[]").unwrap()["id"], Value::Null);
    }

    #[test]
    fn what_is_no_request_is_skipped() {
        for line in [
            "",
            "  \r",
            "nonsense",
            "{",
            "5",
            "\"x\"",
            "null",
            "{}",
            "{\"id\":1}",
            "1e999",
        ] {
            assert!(answer(line).is_none(), "{line}");
        }
        let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(answer(&nested).is_none());
    }

    #[test]
    fn a_message_is_understood_with_a_byte_order_mark_and_a_carriage_return() {
        let line = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n";
        assert!(matches!(understand(line.as_bytes()), Said::Message(_)));
    }

    fn lines(input: &'static [u8], largest: usize) -> Lines<&'static [u8], Vec<u8>> {
        Lines::new(input, Vec::new(), largest)
    }

    fn on_a_thread<T>(task: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(task)
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_whole_and_the_next_one_is_read() {
        on_a_thread(async {
            let input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"0123456789012345678901234567890123456789\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";
            let mut lines = lines(input, 60);
            let message = lines.receive().await.unwrap();
            let JsonRpcMessage::Request(request) = message else {
                panic!("{message:?}");
            };
            assert_eq!(request.id, rmcp::model::RequestId::Number(2));
            drop(request);
            assert!(lines.receive().await.is_none());
            while lines.writer.unsent.load(Ordering::SeqCst) > 0 {
                tokio::task::yield_now().await;
            }
            let output = lines.writer.output.lock().await.take().unwrap();
            let text = String::from_utf8(output).unwrap();
            assert!(text.contains("more than 60 bytes"), "{text}");
        });
    }

    #[test]
    fn requests_wait_while_those_before_them_hold_all_shares() {
        on_a_thread(async {
            let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n";
            let mut lines = lines(ping, 1000);
            lines.shares = Arc::new(Semaphore::new(1));
            let first = lines.receive().await.unwrap();
            let soon = std::time::Duration::from_millis(50);
            assert!(tokio::time::timeout(soon, lines.receive()).await.is_err());
            drop(first);
            assert!(lines.receive().await.is_some());
        });
    }
}
