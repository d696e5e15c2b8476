import BellhopCore

/// A source whose first page can be requested on its own, to see whether it is accessible.
protocol ProbedSource: Source {
    /// The first request of a poll; nil if it may change something.
    var probe: HTTPRequest? { get }

    /// Describes the content of its answer: `25 items`.
    func words(for response: HTTPResponse) throws(Failure) -> String
}
