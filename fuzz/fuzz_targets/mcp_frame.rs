#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| llmwiki_fuzz::mcp::frame(data));
