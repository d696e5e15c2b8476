import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules
import Synchronization

extension Events {
    /// Searches or follows the events of an agent elsewhere, which judges the condition itself.
    func show(_ console: ConsoleClient, _ link: StoreLink) async throws(CommandError) {
        var parameters: [(String, String)] = type.map { ("type", $0) } + source.map { ("source", $0) }
        if let task { parameters.append(("task", task)) }
        if let condition { parameters.append(("where", condition)) }
        // Whatever comes after this place and is not in the list is in the stream.
        let end = follow ? try await link.rows(.events(EventQuery(limit: 1))).last?["sequence"]?.asInt ?? 0 : 0
        let (rows, failures) = try await console.search(
            "events", parameters + (since.map { [("since", $0)] } ?? []), limit: limit)
        for row in rows.reversed() { show(row, in: link.zone) }
        Console.note(failures, "event", "events")
        if rows.isEmpty, condition == nil { try await explain(link) }
        guard follow else { return }
        let follower = EventFollower(
            console: console, address: try console.address(of: "events/stream", parameters),
            after: max(end, rows.first?["sequence"]?.asInt ?? 0))
        try await follower.run(knowing: failures) { [isJSON = output.json, zone = link.zone] event in
            Self.show(event, asJSON: isJSON, in: zone)
        }
    }
}

/// Follows the events of a console, over any number of broken connections.
struct EventFollower: Sendable {
    let console: ConsoleClient
    let address: HTTPAddress
    /// The place on the bus behind which it begins.
    let after: Int64

    private static let (shortestWait, longestWait) = (Duration.seconds(1), Duration.seconds(30))

    private struct State: Sendable {
        var events: ServerSentEvents
        var failures: SearchFailures
        /// How often the present trouble was met; 0 while the stream works.
        var troubles = 0
        var hasBegun = false
    }

    /// Shows each event as it comes. Ends only by an error that does not pass by itself, or one before the first answer.
    func run(knowing failures: SearchFailures, show: @escaping @Sendable (JSON) -> Void) async throws(CommandError) {
        let state = Mutex(State(events: ServerSentEvents(after: "\(after)"), failures: failures))
        while true {
            let last = state.withLock { state in
                state.events.restart()
                return state.events.lastID
            }
            var reason = "The console ended the stream."
            do throws(CommandError) {
                try await console.lines(of: address, ["Last-Event-ID": last]) { line in
                    if state.withLock({ Self.begins(&$0) }) { Console.note("The console answers again.") }
                    guard let message = state.withLock({ $0.events.read(line) }) else { return }
                    guard let json = try? JSON.parse(message.data) else {
                        return Console.note("The console sent an event that cannot be read.")
                    }
                    guard message.type == SearchFailures.note else { return show(json) }
                    let isFirst = state.withLock { state in
                        defer { state.failures += SearchFailures(json: json) }
                        return state.failures.count == 0
                    }
                    if isFirst { Console.note(SearchFailures(json: json), "event", "events") }
                }
            } catch {
                guard error.mayPass, state.withLock({ $0.hasBegun }) else { throw error }
                reason = error.message ?? reason
            }
            let troubles = state.withLock { state in
                state.troubles += 1
                return state.troubles
            }
            let wait = min(Self.shortestWait * (1 << min(troubles - 1, 10)), Self.longestWait)
            Console.note("\(reason) Trying again in \(wait.components.seconds) s, after the last event shown.")
            do { try await Task.sleep(for: wait) } catch { return }
        }
    }

    /// Whether this is the first sign after a trouble.
    private static func begins(_ state: inout State) -> Bool {
        defer { (state.troubles, state.hasBegun) = (0, true) }
        return state.troubles > 0
    }
}
