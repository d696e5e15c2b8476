import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules
import Synchronization

extension Events {
    /// Searches or follows the events of an agent on another machine, which evaluates the condition.
    func show(_ console: ConsoleClient, _ link: StoreLink) async throws(CommandError) {
        var parameters: [(String, String)] = type.map { ("type", $0) } + source.map { ("source", $0) }
        if let task { parameters.append(("task", task)) }
        if let condition { parameters.append(("where", condition)) }
        // Read the end first: the stream then has every later event that the list lacks.
        let end = follow ? try await link.rows(.events(EventQuery(limit: 1))).last?["sequence"]?.asInt ?? 0 : 0
        let found = try await console.search(
            "events", parameters + (since.map { [("since", $0)] } ?? []), limit: limit, lookingAtMost: SearchPage.maxSeen)
        report(found, in: link.zone)
        if found.rows.isEmpty, condition == nil { try await explain(link) }
        guard follow else { return }
        let follower = EventFollower(
            console: console, address: try console.address(of: "events/stream", parameters),
            after: max(end, found.rows.first?["sequence"]?.asInt ?? 0))
        try await follower.run(knowing: found.failures) { [isJSON = output.json, zone = link.zone] event in
            Self.show(event, asJSON: isJSON, in: zone)
        }
    }
}

/// Follows the events of a console, and reconnects after a lost connection.
struct EventFollower: Sendable {
    let console: ConsoleClient
    let address: HTTPAddress
    /// The place on the bus after which it begins.
    let after: Int64

    private static let (shortestWait, longestWait) = (Duration.seconds(1), Duration.seconds(30))

    private struct State: Sendable {
        var stream: FollowedStream
        /// The failed connections in a row; 0 while the stream works.
        var failedAttempts = 0
    }

    /// Shows each event as it happens. Throws an error that a retry cannot solve.
    func run(knowing failures: SearchFailures, show: @escaping @Sendable (JSON) -> Void) async throws(CommandError) {
        let state = Mutex(State(stream: FollowedStream(after: after, failures: failures)))
        while true {
            let last = state.withLock { state in
                state.stream.restart()
                return state.stream.place
            }
            var reason = "The console ended the stream."
            do throws(CommandError) {
                try await console.lines(of: address, ["Last-Event-ID": "\(last)"]) { line in
                    if state.withLock({ Self.begins(&$0) }) { Console.note("The console answers again.") }
                    switch state.withLock({ $0.stream.read(line) }) {
                    case .event(let event): show(event)
                    case .note(let note): Console.note(note)
                    case .failures(let failures): Console.note(failures, "event", "events")
                    case nil: break
                    }
                }
            } catch {
                guard error.mayPass else { throw error }
                reason = error.message ?? reason
            }
            let failedAttempts = state.withLock { state in
                state.failedAttempts += 1
                return state.failedAttempts
            }
            let wait = min(Self.shortestWait * (1 << min(failedAttempts - 1, 10)), Self.longestWait)
            Console.note("\(reason) Trying again in \(wait.components.seconds) s, after the last event shown.")
            do { try await Task.sleep(for: wait) } catch { return }
        }
    }

    /// Notes that the stream works. Whether it had failed before.
    private static func begins(_ state: inout State) -> Bool {
        defer { state.failedAttempts = 0 }
        return state.failedAttempts > 0
    }
}

/// Reads the events of a console's stream: each once, in the order of their places, whatever the server sends.
struct FollowedStream: Sendable {
    enum Found: Sendable, Equatable {
        case event(JSON)
        /// A sentence for people.
        case note(String)
        /// The first failures of the condition.
        case failures(SearchFailures)
    }

    private var events: ServerSentEvents
    /// The place up to which the stream was read. A next stream begins after it.
    private(set) var place: Int64
    private var failures: SearchFailures
    /// Whether the present stream has had an event.
    private var hasBegun = false
    /// The notes that were shown; each is shown once.
    private var shownNotes: Set<String> = []

    init(after place: Int64, failures: SearchFailures) {
        (self.place, self.failures, events) = (place, failures, ServerSentEvents())
    }

    /// Starts a new stream, and drops an incomplete event.
    mutating func restart() {
        events = ServerSentEvents()
        hasBegun = false
    }

    /// Reads a line. Returns what it completes; nil if that is nothing, or was shown already.
    mutating func read(_ line: String) -> Found? {
        guard let message = events.read(line) else { return nil }
        if message.data.isEmpty {
            // All events up to this place were sent, or do not match the filter.
            place = max(place, Int64(message.id) ?? 0)
            return nil
        }
        guard let json = try? JSON.parse(message.data), let id = Int64(message.id), id >= 0 else { return unreadable }
        switch StreamNote(rawValue: message.type) {
        case .failures:
            defer {
                failures += SearchFailures(json: json)
                place = max(place, id)
            }
            return failures.count == 0 ? .failures(SearchFailures(json: json)) : nil
        case .otherBus:
            guard !hasBegun, id < place else { return nil }
            place = id
            return .note(Events.replaced)
        case nil:
            guard id > place else { return once("The console repeats events; repeated events are not shown.") }
            guard Event(cloudEvent: json) != nil else { return unreadable }
            (place, hasBegun) = (id, true)
            return .event(json)
        }
    }

    private var unreadable: Found? {
        mutating get { once("The console sends events that cannot be read; they are not shown.") }
    }

    private mutating func once(_ note: String) -> Found? { shownNotes.insert(note).inserted ? .note(note) : nil }
}
