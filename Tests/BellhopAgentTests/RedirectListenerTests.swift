import BellhopAgent
import BellhopConnectors
import BellhopTesting
import Glibc
import Testing

@Suite(.timeLimit(.minutes(5))) struct RedirectListenerTests {
    @Test func `a redirect is awaited at its own loopback address, not only at 127.0.0.1`() async throws {
        // Below the range from which the system assigns ephemeral ports.
        let port = 20_000 + Int(getpid()) % 12_000
        let (readiness, ready) = AsyncStream.makeStream(of: Void.self)
        let waiting = Task {
            await RedirectListener.wait(
                host: "127.0.0.2", port: port, path: "/callback", atMost: .seconds(50), interpret: { .code($0) },
                ready: { ready.yield() })
        }
        for await _ in readiness { break }
        let browser = try HTTPConnection(HTTPConnection.Configuration(name: "browser"), clock: TestClock())
        let answer = try await browser.send(HTTPRequest(try HTTPAddress("http://127.0.0.2:\(port)/callback?code=7")))
        #expect(answer.status == 200)
        guard case .code(let target) = await waiting.value else { throw CancellationError() }
        #expect(target == "/callback?code=7")
        try await browser.shutdown()
    }

    @Test func `an address that this machine does not have is not reported as one that another program uses`() async {
        // An address for documentation (RFC 5737).
        let outcome = await RedirectListener.wait(
            host: "192.0.2.1", port: 0, path: "/callback", atMost: .seconds(50), interpret: { .code($0) }, ready: {})
        guard case .cannotListen("Cannot assign requested address") = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }
}
