import BellhopCore

/// A source whose first page can be asked for by itself, to see whether it is there for us.
protocol ProbedSource: Source {
    /// The first request of a poll; nil where asking may change something.
    var probe: HTTPRequest? { get }

    /// What the answer to it holds, in words: `25 items`.
    func words(for response: HTTPResponse) throws(Failure) -> String
}
