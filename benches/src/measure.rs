//! What a piece of work cost: CPU time, wall time, bytes written, memory. Linux only (`/proc`).
//!
//! CPU time is user and system time of all threads; on a shared machine it is the figure to
//! compare, wall time is told beside it.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Unit of times in `/proc/*/stat`; Linux promises it to programs on every machine.
const TICKS_PER_SECOND: u64 = 100;

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// CPU time of this process so far.
pub fn cpu() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

/// CPU time of this thread so far.
pub fn thread_cpu() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

/// CPU time of all children that ended and were waited for.
pub fn children_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field may hold blanks; it ends with the last bracket.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

/// Bytes that this process gave to write calls so far.
pub fn written() -> u64 {
    proc_number("/proc/self/io", "wchar:")
}

/// Most memory that this process has held at a time, in bytes.
pub fn peak_memory() -> u64 {
    proc_number("/proc/self/status", "VmHWM:") * 1024
}

fn proc_number(path: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(key))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// Bytes of all files below a path.
pub fn bytes_below(path: &Path) -> u64 {
    let Ok(meta) = std::fs::symlink_metadata(path) else {
        return 0;
    };
    if !meta.is_dir() {
        return meta.len();
    }
    std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| bytes_below(&entry.path()))
        .sum()
}

/// Cost of a bulk build, without that of making its input.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Build {
    /// CPU seconds.
    pub cpu: f64,
    /// Wall seconds.
    pub wall: f64,
    /// Peak memory of the process, in bytes.
    pub memory: u64,
    /// Size of the result, in bytes.
    pub bytes: u64,
}

/// Times a bulk build whose input is made on the same thread.
pub struct BuildTimer {
    started: Instant,
    cpu: Duration,
    input_wall: Duration,
    input_cpu: Duration,
}

impl BuildTimer {
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            cpu: cpu(),
            input_wall: Duration::ZERO,
            input_cpu: Duration::ZERO,
        }
    }

    /// Runs a step that makes input: its cost does not count.
    pub fn input<T>(&mut self, make: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), thread_cpu());
        let made = make();
        self.input_cpu += thread_cpu().saturating_sub(cpu);
        self.input_wall += wall.elapsed();
        made
    }

    pub fn finish(self, result: &Path) -> Build {
        let cpu = cpu()
            .saturating_sub(self.cpu)
            .saturating_sub(self.input_cpu);
        let wall = self.started.elapsed().saturating_sub(self.input_wall);
        Build {
            cpu: cpu.as_secs_f64(),
            wall: wall.as_secs_f64(),
            memory: peak_memory(),
            bytes: bytes_below(result),
        }
    }
}

/// CPU and wall time of one operation, many times.
#[derive(Debug, Default)]
pub struct Samples {
    cpu: Vec<Duration>,
    wall: Vec<Duration>,
}

/// What [`Samples`] say, in milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Spread {
    pub cpu_p50: f64,
    pub cpu_p99: f64,
    pub cpu_mean: f64,
    pub wall_p50: f64,
    pub wall_p99: f64,
}

impl Samples {
    /// Runs the operation and keeps what it cost all threads.
    pub fn process<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.take(cpu, work)
    }

    /// Runs the operation and keeps what it cost this thread.
    pub fn thread<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.take(thread_cpu, work)
    }

    fn take<T>(&mut self, clock: fn() -> Duration, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), clock());
        let done = work();
        self.cpu.push(clock().saturating_sub(cpu));
        self.wall.push(wall.elapsed());
        done
    }

    pub fn len(&self) -> usize {
        self.cpu.len()
    }

    /// Wall time of all samples.
    pub fn total_wall(&self) -> Duration {
        self.wall.iter().sum()
    }

    pub fn spread(mut self) -> Spread {
        self.cpu.sort_unstable();
        self.wall.sort_unstable();
        let at = |list: &[Duration], of_100: usize| {
            let place = (list.len() * of_100 / 100).min(list.len().saturating_sub(1));
            list.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        let sum: Duration = self.cpu.iter().sum();
        Spread {
            cpu_p50: at(&self.cpu, 50),
            cpu_p99: at(&self.cpu, 99),
            cpu_mean: sum.as_secs_f64() * 1e3 / self.cpu.len().max(1) as f64,
            wall_p50: at(&self.wall, 50),
            wall_p99: at(&self.wall, 99),
        }
    }
}
