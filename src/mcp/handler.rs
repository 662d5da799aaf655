//! What the server answers to each kind of request.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, Reference,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;

use super::operate::Failure;
use super::tools;
use super::{MAX_ANSWER_BYTES, Server, bound, prompts, resources, words};
use crate::error::ErrorCode;

/// A failure of a request that is no call of a tool.
fn refused(failure: &Failure) -> ErrorData {
    let text = failure.text();
    match failure {
        Failure::Defect => ErrorData::internal_error(text, None),
        Failure::Engine(error) => match error.code() {
            ErrorCode::PageNotFound | ErrorCode::SourceNotFound | ErrorCode::NotInitialized => {
                ErrorData::resource_not_found(text, None)
            }
            code => ErrorData::new(rmcp::model::ErrorCode(code.row().json_rpc), text, None),
        },
    }
}

fn unknown_tool(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("unknown tool: {name}"), None)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .build();
        let implementation =
            Implementation::new("llmwiki", env!("CARGO_PKG_VERSION")).with_title("llmwiki");
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(words::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let operation =
            tools::find(self.0.operations, &call.name).ok_or_else(|| unknown_tool(&call.name))?;
        let arguments = Value::Object(call.arguments.unwrap_or_default());
        let answer = self
            .operate(&context, move |wiki, ctx| {
                let report = (operation.run)(arguments, wiki, ctx)?;
                let report = bound::bound(report, MAX_ANSWER_BYTES, operation.narrow);
                let text = report.to_string();
                Ok((report, text))
            })
            .await;
        let result = match answer {
            Ok((report, text)) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = Some(report);
                result
            }
            // No structured content: clients hold it against the schema of an answer.
            Err(failure) => CallToolResult::error(vec![ContentBlock::text(failure.text())]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = page.and_then(|page| page.cursor);
        self.operate(&context, move |wiki, ctx| {
            resources::list(wiki, ctx, cursor.as_deref())
        })
        .await
        .map_err(|failure| refused(&failure))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates(self.0.operations))
    }

    async fn read_resource(
        &self,
        wanted: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let operations = self.0.operations;
        self.operate(&context, move |wiki, ctx| {
            resources::read(wiki, ctx, operations, &wanted.uri)
        })
        .await
        .map(Into::into)
        .map_err(|failure| refused(&failure))
    }

    async fn complete(
        &self,
        wanted: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let Reference::Resource(template) = wanted.r#ref else {
            // Arguments of prompts are free text.
            return Ok(CompleteResult::default());
        };
        let (operations, argument) = (self.0.operations, wanted.argument);
        self.operate(&context, move |wiki, ctx| {
            let (name, value) = (&argument.name, &argument.value);
            resources::complete(wiki, ctx, operations, &template.uri, name, value)
        })
        .await
        .map(CompleteResult::new)
        .map_err(|failure| refused(&failure))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::listed()))
    }

    async fn get_prompt(
        &self,
        wanted: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut arguments = BTreeMap::new();
        for (name, value) in wanted.arguments.into_iter().flatten() {
            let Value::String(value) = value else {
                let message = format!("the argument {name} of prompt {} is no text", wanted.name);
                return Err(ErrorData::invalid_params(message, None));
            };
            arguments.insert(name, value);
        }
        prompts::fill(&wanted.name, &arguments)
            .map(Into::into)
            .map_err(|cause| ErrorData::invalid_params(Cow::Owned(cause), None))
    }
}
