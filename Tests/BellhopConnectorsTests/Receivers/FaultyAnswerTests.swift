import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

/// Faulty answers, for every kind of receiver over HTTP.
@Suite(.timeLimit(.minutes(5)), .closing) struct FaultyAnswerTests {
    struct Kind: Sendable, CustomTestStringConvertible {
        var name: String
        var settings: @Sendable (String) -> JSON.Object

        var testDescription: String { name }
    }

    static let kinds: [Kind] =
        ChatReceiverTests.Chat.all.map { Kind(name: $0.kind, settings: $0.settings) } + [
            Kind(name: "slack", settings: { ["url": .string($0 + "/hooks/SECRETSECRET")] }),
            Kind(name: "pagerduty", settings: { ["url": .string($0), "routing_key": "5EC2E75EC2E75EC2E75EC2E75EC2E75E"] }),
            Kind(name: "opsgenie", settings: { ["url": .string($0), "key": "SECRETSECRET-0000-0000-0000-000000000000"] }),
            Kind(name: "ntfy", settings: { ["url": .string($0), "topic": "ops", "token": "tk_SECRETSECRETSECRETSECRETSECRE"] }),
            Kind(name: "matrix", settings: { ["url": .string($0), "token": "SECRETSECRET", "room": "!room:example.com"] }),
            Kind(name: "webhook", settings: { ["url": .string($0 + "/x"), "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"] }),
        ]

    /// The failure of a message; nil if it counts as delivered.
    private func failure(_ kind: Kind, at address: String, _ more: JSON.Object = [:]) async throws -> Failure? {
        let settings = JSON.Object(kind.settings(address), with: more)
        return try await SampleDelivery.failure(of: SampleDelivery.notify(SampleMessage.full), over: kind.name, settings)
    }

    private func checkSentence(_ failure: Failure?, _ kind: Kind) {
        guard let failure else { return }
        let text = failure.message
        #expect(!text.contains(where: \.isNewline) && text.count < 500, "\(kind.name): \(text)")
        #expect(text.hasSuffix(".") && text.contains("ops"), "\(kind.name): \(text)")
        #expect(
            !text.contains("SECRETSECRET") && !text.contains("5EC2E75E") && !text.contains("MDEyMzQ1"), "\(kind.name): \(text)")
    }

    @Test(arguments: kinds, [FaultyServer.Answer.nothing, .half, .noHTTP, .serverError])
    func `half an answer, another protocol and an error are reported in one sentence, and the delivery is retried`(
        _ kind: Kind, _ answer: FaultyServer.Answer
    ) async throws {
        let found = try await failure(kind, at: FaultyServer.serve(answer))
        #expect((found == nil) == (kind.name == "webhook" && answer == .half), "\(found?.message ?? "")")
        checkSentence(found, kind)
        #expect(found?.remedy != .giveUp, "\(found?.message ?? "")")
    }

    @Test(arguments: kinds, [FaultyServer.Answer.noStatus, .endlessFields, .twoLengths, .wrongChunks, .damaged])
    func `an answer that breaks the rules of HTTP is reported in one sentence, and the delivery is retried`(
        _ kind: Kind, _ answer: FaultyServer.Answer
    ) async throws {
        let found = try await failure(kind, at: FaultyServer.serve(answer))
        let isSettled = kind.name == "webhook" && [.wrongChunks, .damaged].contains(answer)
        #expect((found == nil) == isSettled, "\(found?.message ?? "")")
        checkSentence(found, kind)
        if case .retry? = found?.remedy {} else { #expect(isSettled, "\(found?.message ?? "")") }
        let words =
            [FaultyServer.Answer.endlessFields: "fields that are too large", .damaged: "is damaged"][answer]
            ?? "is not valid HTTP"
        #expect(isSettled || found?.message.contains(words) == true, "\(found?.message ?? "")")
    }

    @Test(arguments: kinds)
    func `waiting for an answer that arrives byte by byte ends at the timeout`(_ kind: Kind) async throws {
        // The beginning of the answer must come in time, also on a busy machine.
        let found = try await failure(kind, at: FaultyServer.serve(.drip), ["timeout": 2_000_000])
        #expect((found == nil) == (kind.name == "webhook"), "\(found?.message ?? "")")
        checkSentence(found, kind)
        #expect(found == nil || found?.message.contains("did not finish its answer within 2 s") == true)
    }

    /// Without expectations: answers with bytes changed, left out, doubled or inserted, or followed by parts of other answers.
    @Test func `a damaged answer never crashes the process`() async throws {
        let answers = [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\nok",
            "HTTP/1.1 429 Too Many\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
            "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 204 No\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 101 Go\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
            "HTTP/1.0 301 Moved\r\nLocation: /x\r\nContent-Encoding: gzip\r\n\r\n\u{1F}\u{8B}",
        ].map { Array($0.utf8) }
        let pieces = ["\r\n", "0", "1", ":", " ", "\0", "-", "HTTP/1.1 ", "Content-Length: ", "chunked", "99999999999999999999"]
        for seed in UInt64(0)..<100 {
            var random = SeededRandom(seed: seed)
            var bytes = answers.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<max(bytes.count, 1), using: &random)
                switch Int.random(in: 0..<6, using: &random) {
                case 0 where !bytes.isEmpty: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1 where !bytes.isEmpty: bytes.remove(at: place)
                case 2 where !bytes.isEmpty: bytes.insert(bytes[place], at: place)
                case 3: bytes += answers.randomElement(using: &random)!.suffix(Int.random(in: 1...60, using: &random))
                case 4 where bytes.count > 12: bytes[9 + place % 3] = UInt8(ascii: "0") + UInt8.random(in: 0...9, using: &random)
                default: bytes.insert(contentsOf: Array(pieces.randomElement(using: &random)!.utf8), at: min(place, bytes.count))
                }
            }
            let connection = try HTTPConnection(.init(name: "ops", timeout: .milliseconds(100)), clock: TestClock())
            try await FaultyServer.serve(.given, bytes: bytes) { address in
                // A long request is answered before it is sent whole.
                let body = [UInt8](repeating: 1, count: seed % 4 == 0 ? 500_000 : 1)
                let settled: StatusSet? = seed % 3 == 0 ? .any : nil
                var request = HTTPRequest("POST", try HTTPAddress(address), body: body)
                request.bodyNotNeededFor = settled
                for _ in 0..<2 { _ = try? await connection.send(request) }
            }
            try await connection.shutdown()
        }
    }

    /// Any answer of 200 is a success for a webhook, however long, and even if it is cut off: its receiver is unknown.
    @Test(arguments: kinds, [FaultyServer.Answer.huge, .loginPage])
    func `answers of 100 MB and pages instead of answers are reported in one sentence`(
        _ kind: Kind, _ answer: FaultyServer.Answer
    ) async throws {
        let found = try await failure(kind, at: FaultyServer.serve(answer))
        #expect((found == nil) == (kind.name == "webhook"), "\(found?.message ?? "")")
        checkSentence(found, kind)
        // Another answer may come the next time.
        if answer == .loginPage, let found { #expect(found.remedy == .retry(after: nil), "\(found)") }
        // A body of this size is never read completely: attempts to several receivers may be in flight at once.
        if answer == .huge, let found { #expect(found.message.contains("larger than the 1 MB that max_body allows"), "\(found)") }
    }

    @Test(arguments: kinds) func `a refusal whose body is cut is retried, because the body says why`(_ kind: Kind) async throws {
        let found = try await failure(kind, at: FaultyServer.serve(.halfRefusal))
        checkSentence(found, kind)
        // A webhook's failure depends on the status alone.
        let decides = found?.remedy == .giveUp || found?.remedy == .pauseReceiver
        #expect(found != nil && decides == (kind.name == "webhook"), "\(kind.name): \(found?.message ?? "")")
    }

    @Test(arguments: kinds) func `a 503 with a huge body rests the receiver for its Retry-After`(_ kind: Kind) async throws {
        let found = try await failure(kind, at: FaultyServer.serve(.hugeError))
        checkSentence(found, kind)
        #expect(found?.remedy == .rest(.seconds(7)), "\(found?.message ?? "")")
    }

    @Test(arguments: kinds)
    func `an untrusted certificate is reported in one sentence, and nothing is sent`(
        _ kind: Kind
    ) async throws {
        let server = try await TLSServer.serve()
        let found = try await failure(kind, at: "https://localhost:\(server.port)")
        checkSentence(found, kind)
        #expect(found?.message.contains("certificate") == true, "\(found?.message ?? "")")
    }
}
