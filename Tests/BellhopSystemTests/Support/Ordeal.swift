import BellhopCore
import BellhopTesting
import Foundation
import Glibc
import Simulator
import Testing

/// A series of runs that are killed, with a change on the instance before each and some minutes between them.
struct Ordeal {
    let stage: Stage
    private var turmoil: Turmoil
    private var random: SeededRandom
    /// The number of runs that were really killed. A run that ends before its kill does not count.
    private(set) var kills = 0
    /// When undisturbed passes began and ended, in microseconds since 1970 UTC.
    private(set) var passes: [ClosedRange<Int64>] = []
    /// The audit's last row after the latest undisturbed pass.
    private var checkpoint: String?
    /// The duration of an undisturbed run, with a margin.
    private var usual = Duration.milliseconds(300)

    init(_ stage: Stage, seed: UInt64) {
        self.stage = stage
        turmoil = Turmoil(stage.instance, seed: seed)
        random = SeededRandom(seed: seed &+ 1000)
    }

    /// Kills runs until this many were killed, with an undisturbed pass after every few rounds. Fails after ten times as many rounds:
    /// even at the rarest checkpoint, up to a third of the rounds are killed.
    ///
    /// - Parameter run: makes the run of a round, which is probably killed.
    mutating func kill(
        _ count: Int, passingEvery interval: Int, sourceLocation: SourceLocation = #_sourceLocation,
        run: (inout Ordeal, _ round: Int) async throws -> Void
    ) async throws {
        var round = 0
        while kills < count, round < 10 * count {
            round += 1
            try await run(&self, round)
            if round % interval == 0 { try await pass() }
        }
        #expect(kills >= count, sourceLocation: sourceLocation)
    }

    /// One pass that kills itself at the nth passing of a checkpoint.
    mutating func kill(at checkpoint: String, nth: Int) async throws {
        turmoil.happen()
        let ended = try await stage.bellhop("run", "--once", environment: ["BELLHOP_CRASH": "\(checkpoint):\(nth)"])
        note(ended)
    }

    /// One pass that is killed at a random moment.
    mutating func killAtAnyMoment() async throws {
        turmoil.happen()
        let program = try stage.start(["run", "--once"])
        try await Task.sleep(for: usual * Double(Int.random(in: 5...100, using: &random)) / 100)
        program.send(SIGKILL)
        note(await program.end())
    }

    /// A watching agent that is killed shortly after a change.
    mutating func killWhileItWatches() async throws {
        turmoil.happen()
        let lists = stage.instance.counts.lists
        let program = try stage.start(["run"])
        try await eventually("the agent polls") { stage.instance.counts.lists > lists || !program.isRunning }
        turmoil.happen()
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...1500, using: &random)))
        program.send(SIGKILL)
        note(await program.end())
    }

    /// One undisturbed pass.
    mutating func pass() async throws {
        let (start, began) = (ContinuousClock.now, stage.time.now)
        let ended = try await stage.bellhop("run", "--once")
        if ended.code == 0 { passes.append(began...max(began, stage.time.now)) }
        usual = (ContinuousClock.now - start) * 1.2
        checkpoint = try await stage.bellhop("audit", "checkpoint").output.trimmingCharacters(in: .whitespacesAndNewlines)
        note(ended)
    }

    /// Adds a task that never changes, so that every random history has waits and elements that must run.
    mutating func addLastingTask() async throws {
        stage.instance.addTask("incident", title: "Lasting task 5", assignedTo: Stage.user)
        try await pass()
    }

    /// Undisturbed passes until no delivery is left; then checks everything.
    mutating func end(
        sourceLocation: SourceLocation = #_sourceLocation,
        check: (Ordeal) async throws -> Void = { try await Ledger($0.stage).check() }
    ) async throws {
        stage.time.pass(.seconds(6 * 3600))
        for _ in 0..<40 {
            let began = stage.time.now
            let ended = try await stage.bellhop("run", "--once")
            #expect(ended.code == 0, "\(ended.errors)", sourceLocation: sourceLocation)
            passes.append(began...max(began, stage.time.now))
            let open = try await stage.deliveries("available", "running", "quiet")
            if open.isEmpty { break }
            // Not a divisor of an hour, so that each pass meets a different part of a recurring silence.
            stage.time.pass(.seconds(1320))
        }
        let unfinished = try await stage.deliveries().filter { !["done", "joined", "silenced", "shadow"].contains($0["state"]) }
        #expect(unfinished == [], "these deliveries are not done", sourceLocation: sourceLocation)
        let verified = await (try stage.start(["audit", "verify"] + (checkpoint.map { ["--checkpoint", $0] } ?? []))).end()
        #expect(verified.code == 0, "\(verified.errors)", sourceLocation: sourceLocation)
        try await checkAudit(sourceLocation)
        try await check(self)
    }

    /// In the audit, each delivery has exactly one attempt that succeeded.
    private func checkAudit(_ sourceLocation: SourceLocation) async throws {
        let rows = try await stage.bellhop("audit", "export").output.split(separator: "\n").map { try JSON.parse(Array($0.utf8)) }
        let made = rows.filter { $0.at("entry", "outcome") == "done" }.compactMap { $0.at("entry", "delivery")?.asString }
        let done = try await stage.deliveries("done").filter { $0["attempts"]?.asInt ?? 0 > 0 }.compactMap { $0["id"]?.asString }
        #expect(made.sorted() == done.sorted(), sourceLocation: sourceLocation)
    }

    /// A run may be killed, succeed, or fail because of an injected fault (1, 69, 75); any other exit code is a defect.
    private mutating func note(_ ended: Program.Ended) {
        if ended.code == 128 + SIGKILL { kills += 1 }
        #expect([0, 1, 69, 75, 128 + SIGKILL].contains(ended.code), "\(ended.errors)")
        stage.time.pass(.seconds(400))
    }
}
