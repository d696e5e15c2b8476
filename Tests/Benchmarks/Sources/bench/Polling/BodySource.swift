import BellhopCore
import Synchronization

/// A source whose answer is in memory already: what it does with the answer is what the tracker does once its last byte is there.
///
/// A class over a mutex, because the benchmark changes the body between the polls of a poller that holds the source.
final class BodySource: Source {
    private let body: Mutex<[UInt8]>
    let name = Tasks.source
    let scope = Tasks.scope
    let schema = Tasks.schema

    init(_ body: [UInt8]) { self.body = Mutex(body) }

    /// Lets the body be looked at where it is: whoever kept a copy would have it copied when it is changed.
    func look<Value>(_ work: (Span<UInt8>) -> Value) -> Value { body.withLock { work($0.span) } }

    /// Changes the blank at the body's end into another one: not one task is another, but the body is.
    func touch() {
        body.withLock { body in
            let last = body.count - 1
            body[last] = body[last] == UInt8(ascii: " ") ? UInt8(ascii: "\n") : UInt8(ascii: " ")
        }
    }

    func list(from standing: Standing) async throws(Failure) -> Answer {
        let bytes = body.withLock { $0 }
        do throws(ListingError) {
            return Answer(listing: try Listing(bytes, shape: .serviceNow), fingerprint: Fingerprint(content: bytes))
        } catch {
            throw Failure(.badAnswer, .giveUp, error.description)
        }
    }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details { Details() }
}
