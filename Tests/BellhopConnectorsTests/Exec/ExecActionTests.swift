import BellhopCore
import BellhopTesting
import Foundation
import Testing

@testable import BellhopConnectors

/// The action `exec`, with real programs. Serialized, because it checks which processes are left.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ExecActionTests {
    private let folder = NSTemporaryDirectory() + "bellhop-exec-\(UUID().uuidString)"
    private let notebook = MemoryNotebook()

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    private func perform(
        _ arguments: JSON.Object, isAllowed: Bool = true, attempt: Attempt = SampleDelivery.first
    ) async throws(Failure) -> Receipt {
        let action = ExecAction(
            isAllowed: isAllowed, folder: folder, notebook: notebook,
            variable: { ["API_TOKEN": "s3cr3t-value", "GREETING": "hello"][$0] })
        return try await action.perform(SampleDelivery.make("exec", .values(arguments), to: "exec"), attempt: attempt)
    }

    private func shell(
        _ script: String, _ arguments: [String] = [], more: JSON.Object = [:], attempt: Attempt = SampleDelivery.first
    ) async throws(Failure) -> Receipt {
        let command = JSON.array((["sh", "-c", script, "sh"] + arguments).map(JSON.string))
        return try await perform(JSON.Object(["command": command], with: more), attempt: attempt)
    }

    private func failure(_ script: String, more: JSON.Object = [:], attempt: Attempt = SampleDelivery.first) async -> Failure? {
        do throws(Failure) {
            _ = try await shell(script, more: more, attempt: attempt)
            return nil
        } catch { return error }
    }

    @Test func `a program is not started if there may be no room for its pipes`() async {
        let program = BellhopConnectors.Program(
            path: "/bin/true", arguments: [], environment: [:], folder: "/", input: [], limit: .seconds(10), spareFiles: .max)
        await #expect(throws: (any Error).self) { _ = try await program.run() }
    }

    private func contents(_ name: String) -> String? { try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) }

    /// The numbers in a file that a script wrote.
    private func processes(_ name: String) -> [pid_t] {
        (contents(name) ?? "").split(separator: "\n").compactMap { pid_t($0.filter(\.isNumber)) }
    }

    /// Waits until these processes have ended and this process has reaped its own; false if that does not happen in time.
    private func areGone(_ processes: [pid_t]) async throws -> Bool {
        for _ in 0..<6000 {
            if processes.allSatisfy({ kill($0, 0) != 0 || Self.isOrphan($0) }) { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    /// Whether a process has ended and waits for its parent, which is not this process, to notice.
    private static func isOrphan(_ process: pid_t) -> Bool {
        // After the name in parentheses: the state and the parent.
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        let facts = text.split(separator: ")").last?.split(separator: " ") ?? []
        return facts.count > 1 && facts[0] == "Z" && pid_t(facts[1]) != getpid()
    }

    @Test func `hostile texts arrive as arguments, as input and in the environment, byte for byte, and run nothing`() async throws
    {
        let texts = HostileTexts.all.filter { !$0.utf8.contains(0) }
        for text in texts.prefix(60) + ["$(touch pwned)", "`touch pwned`", "; touch pwned", "a\nb", "", "-n", "' \" \\", "%s%n"] {
            let receipt = try await shell(
                #"printf %s "$1" > argument; cat > input; printf %s "$VALUE" > variable; echo "$#""#, [text],
                more: ["stdin": .string(text), "env": ["VALUE": .string(text)]])
            #expect(receipt.summary == "exit 0: 1")
            for name in ["argument", "input", "variable"] {
                let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)").map(Array.init)
                #expect(bytes == Array(text.utf8), "\(name)")
            }
            #expect(contents("pwned") == nil)
        }
        do throws(Failure) {
            _ = try await shell("true", ["a\0b"])
            Issue.record("an argument with a null character was accepted")
        } catch { #expect(error.remedy == .giveUp && error.message.contains("null character")) }
    }

    @Test func `a program gets only the named variables, the configuration's folder and the standard streams`() async throws {
        #expect(try await perform(["command": ["env"]]).summary == "exit 0")
        #expect(try await perform(["command": ["env"], "env": ["GREETING", "MISSING"]]).summary == "exit 0: GREETING=hello")
        #expect(try await perform(["command": ["env"], "env": ["A": "1"]]).summary == "exit 0: A=1")
        let place = try await shell("pwd -P").summary
        #expect(place.hasSuffix(folder.split(separator: "/").last.map(String.init) ?? ""))
        // Descriptors of the agent are not inherited: the three standard ones, and the one that lists them.
        let open = try await shell("ls /proc/self/fd | wc -l").summary
        #expect(open == "exit 0: 4")
    }

    @Test func `secrets of the environment are not kept with the output`() async throws {
        let receipt = try await shell(#"echo "token $API_TOKEN, $GREETING""#, more: ["env": ["API_TOKEN", "GREETING"]])
        #expect(receipt.summary == "exit 0: token •••, hello")
        let failure = await failure(#"echo "$API_TOKEN" >&2; exit 3"#, more: ["env": ["API_TOKEN"]])
        #expect(failure?.message == "`sh` ended with exit status 3. It wrote: •••")
    }

    @Test(arguments: 0...13) func `no part of a secret is kept where a long output is cut`(_ kept: Int) {
        let output = TruncatedOutput()
        func write(_ text: String) { output.append(Array(text.utf8)) }
        let secret = "s3cr3t-value0"
        write(String(repeating: "a", count: 1024 - kept) + secret + String(repeating: "b", count: 5000))
        write(secret + String(repeating: "c", count: 3072 - kept))
        let parts = output.text(hiding: [secret]).split(separator: " ")
        #expect(parts.first?.allSatisfy { "a•…".contains($0) } == true, "\(parts)")
        #expect(parts.last?.allSatisfy { "c•…".contains($0) } == true, "\(parts)")
    }

    @Test(arguments: [
        (1, Failure.Remedy.retry(after: nil)), (64, .giveUp), (65, .giveUp), (75, .retry(after: nil)), (77, .giveUp),
        (78, .giveUp), (127, .retry(after: nil)),
    ])
    func `an exit status other than 0 fails, and some are final`(_ code: Int, _ remedy: Failure.Remedy) async {
        let failure = await failure("echo on stdout; echo on stderr >&2; exit \(code)")
        #expect(failure?.reason == .refused && failure?.remedy == remedy)
        #expect(failure?.message == "`sh` ended with exit status \(code). It wrote: on stdout on stderr")
    }

    @Test(arguments: [("kill -9 $$", Int64(60_000_000), Failure.Reason.cut), ("exec sleep 600", 200_000, .timeout)])
    func `a program that was ended from outside may have done its work: it is tried again only if it is repeatable`(
        _ script: String, _ limit: Int64, _ reason: Failure.Reason
    ) async {
        let limit: JSON.Object = ["timeout": .int(limit)]
        let held = await failure(script, more: limit)
        #expect(held?.reason == reason && held?.remedy == .hold)
        let again = await failure(script, more: JSON.Object(limit, with: ["repeatable": true]))
        #expect(again?.reason == reason && again?.remedy == .retry(after: nil))
        #expect([held, again].allSatisfy { $0?.concernsReceiver == false }, "it says nothing about other programs")
    }

    @Test(arguments: [("", "It wrote nothing."), ("echo half done;", "It wrote: half done."), ("echo Why?;", "It wrote: Why?")])
    func `the failure of a program ended by a signal says so, what it wrote, and then what to do`(
        _ script: String, _ wrote: String
    ) async {
        let failure = await failure("\(script) kill -9 $$")
        #expect(
            failure?.message
                == "`sh` was ended by signal 9. \(wrote) Whether it was carried out is unknown, and it is not `repeatable`: look there, then retry or drop."
        )
    }

    @Test func `endless output is bounded, and the program stopped at its time limit`() async {
        let failure = await failure("echo begin; yes", more: ["timeout": 10_000_000])
        #expect(failure?.reason == .timeout)
        #expect((failure?.message.count ?? 0) < 2000)
        #expect(failure?.message.contains("It wrote: begin y y") == true)
        #expect(failure?.message.contains("because it took longer than 10s") == true)
    }

    @Test func `a program that ignores SIGTERM is killed with all that it has started`() async throws {
        let script =
            #"trap "" TERM; (trap "" TERM; echo $$ >> pids; sh -c 'echo $$ >> pids; exec sleep 600') & echo $! >> pids; echo $$ >> pids; wait"#
        let failure = await failure(script, more: ["timeout": 10_000_000])
        #expect(failure?.reason == .timeout)
        #expect(processes("pids").count >= 3)
        #expect(try await areGone(processes("pids")))
    }

    @Test func `the children of a program end with it, although they hold the output open`() async throws {
        let receipt = try await shell("sleep 600 & echo $! > pids; echo done")
        #expect(receipt.summary == "exit 0: done")
        #expect(processes("pids").count == 1)
        #expect(try await areGone(processes("pids")))
    }

    @Test func `the end of a long output is kept, also of a program that ends at once`() async throws {
        for _ in 0..<20 {
            let receipt = try await shell("head -c 60000 /dev/zero | tr '\\0' a; echo; echo end")
            #expect(receipt.summary.hasPrefix("exit 0: aaa") && receipt.summary.hasSuffix("aaa end"), "\(receipt.summary)")
            #expect(receipt.summary.count < 1600)
        }
    }

    @Test func `a process that left the group and holds the output open does not delay the end`() async throws {
        let receipt = try await shell("setsid sleep 30 & echo $! > pids; echo done")
        #expect(receipt.summary == "exit 0: done")
        for process in processes("pids") { kill(process, SIGKILL) }
    }

    @Test func `an input larger than a pipe is written whole, and need not be read`() async throws {
        let text = String(repeating: "0123456789abcdef", count: 1 << 16)
        #expect(try await shell("cat | wc -c", more: ["stdin": .string(text)]).summary == "exit 0: 1048576")
        #expect(try await shell("true", more: ["stdin": .string(text)]).summary == "exit 0")
        #expect(try await shell("exec 0<&-; echo closed", more: ["stdin": .string(text)]).summary == "exit 0: closed")
        #expect(try await shell("head -c 3", more: ["stdin": .string(text)]).summary == "exit 0: 012")
    }

    @Test func `ended programs leave no zombie processes`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 { group.addTask { _ = try await shell("echo $$ > pid-\(number)") } }
            try await group.waitForAll()
        }
        for number in 0..<20 {
            let ids = processes("pid-\(number)")
            #expect(ids.count == 1 && ids.allSatisfy { kill($0, 0) != 0 }, "\(ids)")
        }
    }

    @Test func `a cancelled attempt stops the program, and its outcome is unknown`() async throws {
        let task = Task { await failure("echo $$ > pids; exec sleep 600") }
        for _ in 0..<6000 where processes("pids").isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        task.cancel()
        let ended = await task.value
        #expect(ended?.reason == .interrupted && ended?.remedy == .unknownOutcome)
        #expect(try await areGone(processes("pids")))
    }

    @Test func `a cancelled attempt kills what the program has started and what ignores SIGTERM`() async throws {
        let script = #"sh -c 'trap "" TERM; echo $$ >> pids; exec sleep 600' & echo $$ >> pids; wait"#
        let task = Task { await failure(script) }
        for _ in 0..<6000 where processes("pids").count < 2 { try await Task.sleep(for: .milliseconds(10)) }
        task.cancel()
        let ended = await task.value
        #expect(ended?.remedy == .unknownOutcome)
        #expect(processes("pids").count == 2)
        #expect(try await areGone(processes("pids")))
    }

    @Test func `after an attempt with an unknown outcome a delivery is held, unless it is repeatable`() async throws {
        var again = SampleDelivery.first
        again.number = 2
        again.firstStarted = again.now
        again.lastUncertain = again.now
        let held = await failure("touch ran", attempt: again)
        #expect(held?.remedy == .hold)
        #expect(contents("ran") == nil)
        #expect(try await shell("echo again", more: ["repeatable": true], attempt: again).summary == "exit 0: again")
    }

    @Test func `programs are found by path or by name, and only where that is allowed`() async throws {
        try "#!/bin/sh\necho own\n".write(toFile: "\(folder)/own.sh", atomically: true, encoding: .utf8)
        func message(_ program: String, isAllowed: Bool = true) async -> String {
            do throws(Failure) {
                return try await perform(["command": [.string(program)]], isAllowed: isAllowed).summary
            } catch {
                return error.message
            }
        }
        #expect(await message("./own.sh") == "`./own.sh` is not a program: make it executable, `chmod +x`.")
        chmod("\(folder)/own.sh", 0o755)
        #expect(await message("./own.sh") == "exit 0: own")
        #expect(await message("\(folder)/own.sh") == "exit 0: own")
        // Neither the current folder nor PATH is searched.
        #expect(await message("own.sh").hasPrefix("There is no program `own.sh` in /usr/local/bin"))
        #expect(await message("/bin") == "`/bin` is not a program: make it executable, `chmod +x`.")
        #expect(await message("true", isAllowed: false) == "Programs are not run without `allow_exec: true` in bellhop.yaml.")
        try "no interpreter".write(toFile: "\(folder)/broken", atomically: true, encoding: .utf8)
        chmod("\(folder)/broken", 0o755)
        #expect(await message("./broken").hasPrefix("`broken` could not be started: "))
    }
}

@Suite struct EmitActionTests {
    @Test func `a repeated delivery emits its event with the same id`() async throws {
        let sink = EventLog()
        let delivery = SampleDelivery.make(
            "emit", .values(["type": "outage", "subject": "db", "data": ["level": 1]]), to: "emit")
        let first = try await EmitAction(sink).perform(delivery, attempt: SampleDelivery.first)
        _ = try await EmitAction(sink).perform(delivery, attempt: SampleDelivery.first)
        #expect(sink.events.count == 2 && Set(sink.events.map(\.id)).count == 1)
        #expect(first.reference == sink.events[0].id.text)
        #expect(sink.events[0].source == "tell-ops" && sink.events[0].subject == "db" && sink.events[0].hop == delivery.hop + 1)
    }
}
