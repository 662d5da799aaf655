"""The client of the PyPI package mcp: client.py PROGRAM FOLDER. Fails at the first surprise."""

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import jsonschema
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ResourceTemplateReference

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
CODE = FOLDER / "code"
HASH = "0" * 64
TEXT = "Oil \u6f22 every 500 hours.\n"


def good(seen):
    """Calls that must succeed, in order; `seen` holds the answers so far."""
    yield "llmwiki_status", {}
    yield "llmwiki_lint", {"all": True}
    yield "llmwiki_add_source", {"name": "notes", "content": TEXT}
    source = seen["llmwiki_add_source"]["id"]
    yield "llmwiki_read_source", {"id": source, "offset": 4}
    page = {"id": "pump/oil", "title": "Oil", "summary": "When.", "sources": [source]}
    yield "llmwiki_upsert_page", {**page, "body": "Every 500 hours.\n", "expectedSha256": "absent"}
    yield "llmwiki_read_page", {"id": "pump/oil"}
    yield "llmwiki_list_pages", {"prefix": "pump/"}
    yield "llmwiki_search", {"query": "hours", "limit": 2}
    yield "llmwiki_ask", {"question": "how many hours", "in": "pages"}
    yield "llmwiki_reindex", {}
    yield "llmwiki_generate", {}
    yield "llmwiki_show", {"section": "modules"}
    yield "knowledge_ask_projects", {"query": "ledger", "projects": ["billing", "nobody"]}
    yield "knowledge_get_from", {"project": "billing", "slug": "concepts/ledger"}


BAD = [
    ("llmwiki_status", {"loud": True}, "INVALID_ARGUMENT"),
    ("llmwiki_lint", {"only": "ALL"}, "INVALID_ARGUMENT"),
    ("llmwiki_add_source", {"name": "n", "content": ""}, "INVALID_ARGUMENT"),
    ("llmwiki_read_source", {"id": HASH}, "SOURCE_NOT_FOUND"),
    ("llmwiki_upsert_page", {"id": "a"}, "INVALID_ARGUMENT"),
    ("llmwiki_read_page", {"id": "none"}, "PAGE_NOT_FOUND"),
    ("llmwiki_list_pages", {"limit": -1}, "INVALID_ARGUMENT"),
    ("llmwiki_search", {"query": 5}, "INVALID_ARGUMENT"),
    ("llmwiki_reindex", {"hard": True}, "INVALID_ARGUMENT"),
    ("llmwiki_generate", {"loud": True}, "INVALID_ARGUMENT"),
    ("llmwiki_show", {"section": "no/such"}, "PAGE_NOT_FOUND"),
    ("knowledge.get_from", {"project": "p", "slug": "s"}, "PROJECT_UNKNOWN"),
]


async def everything(client):
    """Every tool, resource and prompt."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    seen = {}
    for name, arguments in good(seen):
        jsonschema.validate(arguments, tools[name].input_schema)
        result = await client.call_tool(name, arguments)
        assert not result.is_error, (name, result)
        jsonschema.validate(result.structured_content, tools[name].output_schema)
        assert json.loads(result.content[0].text) == result.structured_content
        seen[name] = result.structured_content
    assert set(seen) == set(tools), set(tools) ^ set(seen)
    for name, arguments, code in BAD:
        result = await client.call_tool(name, arguments)
        assert result.is_error and result.structured_content is None, (name, result)
        assert result.content[0].text.startswith(f"{code}: "), (name, result)
    asked = await client.call_tool("knowledge.ask_projects", {"query": "x", "projects": ["a"]})
    assert asked.structured_content["results"][0]["project"] == "a"

    for resource in (await client.list_resources()).resources:
        contents = (await client.read_resource(resource.uri)).contents
        assert contents[0].text, resource.uri
    uri = f"llmwiki://source/{seen['llmwiki_add_source']['id']}"
    assert (await client.read_resource(uri)).contents[0].text == TEXT
    try:
        await client.read_resource("llmwiki://page/none")
        raise AssertionError("a page that is not there was read")
    except MCPError as error:
        wanted = -32602 if client.protocol_version >= "2026-07-28" else -32002
        assert error.error.code == wanted, error.error
    assert len((await client.list_resource_templates()).resource_templates) == 3
    reference = ResourceTemplateReference(uri="llmwiki://page/{+id}")
    completed = await client.complete(reference, {"name": "id", "value": "pump"})
    assert completed.completion.values == ["pump/oil"]
    for prompt in (await client.list_prompts()).prompts:
        arguments = {argument.name: "given" for argument in prompt.arguments or []}
        messages = (await client.get_prompt(prompt.name, arguments)).messages
        assert messages[0].content.text, prompt.name


async def progress_and_cancel(client):
    """A long call that is followed, and one that is given up."""
    told = []

    async def tell(progress, total, message):
        told.append(progress)

    await client.call_tool("llmwiki_reindex", {}, progress_callback=tell)
    assert told and all(a < b for a, b in zip(told, told[1:])), told

    first = asyncio.Event()

    async def began(progress, total, message):
        first.set()

    call = asyncio.create_task(client.call_tool("llmwiki_reindex", {}, progress_callback=began))
    await asyncio.wait_for(first.wait(), 60)
    call.cancel()
    try:
        await call
        raise AssertionError("the call was not cancelled")
    except asyncio.CancelledError:
        pass
    found = await client.call_tool("llmwiki_search", {"query": "word1"})
    assert found.structured_content["hits"]


@asynccontextmanager
async def over_stdio(root, mode):
    """A client of a server of its own."""
    server = StdioServerParameters(command=PROGRAM, args=["--root", str(root), "--project", str(CODE), "mcp"])
    async with Client(server, mode=mode, read_timeout_seconds=120) as client:
        yield client


@asynccontextmanager
async def over_http(root, mode):
    """A client of `llmwiki serve`."""
    command = [PROGRAM, "--root", str(root), "--project", str(CODE), "--json", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = json.loads(server.stdout.readline())["mcp"]
            async with Client(url, mode=mode, read_timeout_seconds=120) as client:
                yield client
        finally:
            server.terminate()
            assert server.wait(60) == 0, "the server did not end cleanly"


async def main():
    """Both generations, both transports."""
    for mode, version in [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28",) * 2]:
        for name, connect in [("stdio", over_stdio), ("http", over_http)]:
            async with connect(FOLDER / f"python-{mode}-{name}", mode) as client:
                assert client.protocol_version == version, client.protocol_version
                await everything(client)
            async with connect(FOLDER / "large", mode) as client:
                await progress_and_cancel(client)
            print(f"Python client, {mode} ({version}) over {name}: all of it")


asyncio.run(main())
