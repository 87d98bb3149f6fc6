//! Passes every request on to the server that the environment's UPSTREAM names, such as `127.0.0.1:8000`.

use wasip3::http::client;
use wasip3::http::types::{ErrorCode, Request, Response};
use wasip3::http_compat::{http_from_wasi_request, http_into_wasi_request};

struct PassingOn;

wasip3::http::service::export!(PassingOn);

impl wasip3::exports::http::handler::Guest for PassingOn {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let (head, body) = http_from_wasi_request(request)?.into_parts();
        let upstream = std::env::var("UPSTREAM").unwrap_or_default();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let request = http::Request::builder().method(head.method).uri(format!("http://{upstream}{path}"));
        let request = request.body(body).map_err(|_| ErrorCode::HttpRequestUriInvalid)?;
        client::send(http_into_wasi_request(request)?).await
    }
}
