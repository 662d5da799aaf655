#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| llmwiki_fuzz::wiki_index(data));
