/// Runs some work. An error that it throws is thrown as another one, which the caller's signature names.
public func rethrowing<Value, From: Error, To: Error>(
    as other: (From) -> To, _ work: () throws(From) -> Value
) throws(To) -> Value {
    do throws(From) { return try work() } catch { throw other(error) }
}

/// The same for asynchronous work.
public func rethrowing<Value, From: Error, To: Error>(
    as other: (From) -> To, _ work: () async throws(From) -> Value
) async throws(To) -> Value {
    do throws(From) { return try await work() } catch { throw other(error) }
}
