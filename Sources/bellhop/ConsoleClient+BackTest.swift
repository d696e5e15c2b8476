import BellhopAgent
import BellhopConnectors
import BellhopCore

extension ConsoleClient {
    enum BackTestProgress { case waiting, running(Double) }

    /// Runs a back-test at the agent, and returns its report. If this task is cancelled, the back-test ends there, too.
    func backTest(_ body: JSON, progress: (BackTestProgress) -> Void) async throws(CommandError) -> JSON {
        let begin = HTTPRequest(
            "POST", try address(of: "backtests", []), headers: ["Content-Type": "application/json"], body: body.encoded())
        return try await connected { connection in
            // If this request were cancelled, the back-test might run there, but without its id this command could not end it.
            let begun = await uncancelled { () -> Result<HTTPResponse, any Error> in
                do { return .success(try await send(begin, over: connection, expecting: .json)) } catch {
                    return .failure(error)
                }
            }
            let answer = try begun.get()
            guard let id = (try? JSON.parse(answer.body))?["id"]?.asString else { throw Self.notUnderstood }
            let place = try address(of: "backtests/\(PercentEncoding.encode(id))", [])
            do {
                return try await report(at: place, over: connection, progress)
            } catch {
                // Keep a back-test that has ended, so that people can see it in the console.
                if !(error is BackTestOver) {
                    await uncancelled {
                        // If this fails, it still ends by itself after some minutes.
                        _ = try? await send(HTTPRequest("DELETE", place), over: connection, expecting: .json)
                    }
                }
                throw (error as? BackTestOver)?.error ?? error
            }
        }
    }

    /// A back-test that ended without a report.
    private struct BackTestOver: Error { var error: CommandError }

    /// Polls a back-test with growing intervals, until it has its report.
    private func report(
        at place: HTTPAddress, over connection: HTTPConnection, _ progress: (BackTestProgress) -> Void
    ) async throws -> JSON {
        var pause = Duration.milliseconds(50)
        while true {
            let answer = try await send(HTTPRequest(place), over: connection, expecting: .json)
            guard let job = try? JSON.parse(answer.body) else { throw Self.notUnderstood }
            switch job["state"]?.asString {
            case "waiting": progress(.waiting)
            case "running": progress(.running(job["progress"]?.asDouble ?? 0))
            case "done":
                guard let report = job["report"], report.asObject != nil else { throw Self.notUnderstood }
                return report
            case "failed", "ended":
                let problem = job["problem"]?.asString ?? "it does not say why."
                throw BackTestOver(error: CommandError(.problem, "The back-test there ended: \(problem.visible)"))
            default: throw Self.notUnderstood
            }
            try await SystemClock().sleep(for: pause)
            pause = min(pause * 2, .seconds(1))
        }
    }
}
