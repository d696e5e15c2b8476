import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

extension HTTPConnection {
    /// Sends a GET whose answer has no end, and passes on each line of it as it comes, without its line end.
    ///
    /// - Parameters:
    ///   - type: the media type of a successful answer.
    ///   - silence: how long the server may send nothing while a line is awaited.
    ///   - line: called in order. A last line without its end is incomplete, and not passed on.
    /// - Returns: the answer if it is no success, or of another type; nil when the server ended a successful one.
    public func lines(
        of address: HTTPAddress, headers: HeaderFields, as type: String, silence: Duration,
        line: @escaping @Sendable (String) async -> Void
    ) async throws(TransportError) -> HTTPResponse? {
        let request = HTTPRequest(address, headers: headers)
        try await check(request)
        try await waitForTurn(request)
        var prepared = HTTPClientRequest(url: request.address.text)
        prepared.headers = self.headers(of: request)
        prepared.headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
        let progress = Progress(changesSomething: false, hasBody: false)
        let heard = LastSign()
        do {
            return try await withThrowingTaskGroup(of: HTTPResponse?.self) { group in
                group.addTask { [client, configuration, prepared] in
                    let answer = try await client.execute(prepared, deadline: .distantFuture)
                    let fields = HeaderFields(answer.headers.map { HeaderFields.Field($0.name, $0.value) })
                    guard answer.status == .ok, fields["Content-Type"]?.lowercased().hasPrefix(type) == true else {
                        let body = try await answer.body.collect(upTo: configuration.maxBody)
                        return HTTPResponse(
                            status: Int(answer.status.code), headers: fields, body: Array(body.readableBytesView))
                    }
                    var rest: [UInt8] = []
                    for try await part in answer.body {
                        heard.time.withLock { $0 = nil }
                        defer { heard.time.withLock { $0 = .now } }
                        var pieces = part.readableBytesView.split(separator: 0x0a, omittingEmptySubsequences: false)
                        let last = pieces.removeLast()
                        for piece in pieces {
                            await line(String(decoding: rest + piece, as: UTF8.self))
                            rest = []
                        }
                        rest += last
                        if rest.count > configuration.maxBody { throw BodyTooLarge() }
                    }
                    return nil
                }
                group.addTask {
                    while true {
                        let end = (heard.time.withLock { $0 } ?? .now) + silence
                        if end <= .now { throw HTTPClientError.readTimeout }
                        try await Task.sleep(until: end)
                    }
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        } catch {
            throw TransportError(
                error, at: request.address, through: configuration.proxy, timeout: silence, limit: configuration.maxBody, progress
            )
        }
    }
}

/// Since when the next part is awaited; nil while the lines of one are passed on.
///
/// A class with a mutex, because one task writes what another reads.
private final class LastSign: Sendable {
    let time = Mutex<ContinuousClock.Instant?>(.now)
}
