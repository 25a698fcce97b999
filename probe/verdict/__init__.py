"""Judge: pure functions from facts to findings and a verdict. Nothing here touches the system."""
