import CEL

/// Why a step could not be rendered.
struct RenderFailure: Error, Sendable, Hashable {
    var message: String

    init(_ message: String) { self.message = message }

    init(_ error: EvaluationError) { message = error.message }
}
