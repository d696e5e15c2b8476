import BellhopCore
import Synchronization

/// A source whose answer is already in memory: it processes it as the tracker does after receiving the last byte.
///
/// A class with a mutex, because the benchmark changes the body between the polls of a poller that holds the source.
final class BodySource: Source {
    private let body: Mutex<[UInt8]>
    let name = Tasks.source
    let scope = Tasks.scope
    let schema = Tasks.schema

    init(_ body: [UInt8]) { self.body = Mutex(body) }

    /// Gives access to the body in place: a kept reference would force a copy on the next change.
    func look<Value>(_ work: (Span<UInt8>) -> Value) -> Value { body.withLock { work($0.span) } }

    /// Changes the space at the body's end: a different body with the same tasks.
    func touch() {
        body.withLock { body in
            let last = body.count - 1
            body[last] = body[last] == UInt8(ascii: " ") ? UInt8(ascii: "\n") : UInt8(ascii: " ")
        }
    }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer { try Answer(tracker: body.withLock { $0 }) }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details { Details() }
}

extension Answer {
    /// The tasks in a body of the Task Tracker API.
    init(tracker body: [UInt8]) throws(Failure) {
        do throws(ListingError) {
            let shape = ListingShape(items: JSON.Path(keys: ["result"]), key: ["sys_id"])
            self.init(listing: try Listing(body, shape: shape), fingerprint: Fingerprint(content: body))
        } catch { throw Failure(.badAnswer, .giveUp, error.description) }
    }
}
